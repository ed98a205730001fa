// The common part of tests that open ports in this process.
#pragma once

#include <rte_mbuf.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/test_memory.hpp"

namespace dpubench::datapath::test {

/// Lengths from the least to the greatest frame, each at a border of something.
inline const std::vector<std::uint32_t> kLengths = {64,   65,   66,   127,  128,  129,  590,  1500, 1518, 1519, 2047, 2048,
                                                    2049, 2114, 4095, 4096, 4097, 8192, 8999, 9000, 9014, 9017, 9018};

/// Return the error of opening a port, or "" if there is none.
inline std::string fault_of(const PortSpec& spec, const PortResources& resources = {}) {
  try {
    static_cast<void>(open_port(spec, resources));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Return the pool of this process, made once for all its tests.
inline rte_mempool* pool() {
  static rte_mempool* const made = [] {
    dpubench::test::start_memory();
    return make_pool("ports_test", 4095, kMaxFrame);
  }();
  return made;
}

inline PortResources resources(std::uint32_t max_frame = 1518, std::uint16_t queues = 1) {
  return {pool(), queues, max_frame};
}

inline rte_mbuf* frame(std::uint32_t bytes, unsigned char content) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool());
  std::memset(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes)), content, bytes);
  return packet;
}

}  // namespace dpubench::datapath::test
