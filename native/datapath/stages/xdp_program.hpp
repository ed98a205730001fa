// Loads the eBPF program of a module (engine xdp of a workload's stage) into the kernel, and attaches it to an interface in its
// driver's own mode. For modules that link libbpf; nothing else includes it.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "datapath/ports/port.hpp"

namespace dpubench::datapath::xdp {

inline constexpr const char* kPortKind = "xdp";
/// Least and most bytes of a frame in the kernel's test run: an Ethernet header, and a page without its own head and tail.
inline constexpr std::size_t kLeastTested = 14;
inline constexpr std::size_t kMostTested = 3072;
/// Most bytes of a frame in the driver's mode: a page must hold it with head room and tail.
inline constexpr std::uint32_t kMostFrame = 3500;

/// Return the last message of libbpf and the kernel's verifier: the reason behind an errno.
inline std::string& last_message() {
  thread_local std::string message;
  return message;
}

inline int keep_message(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::array<char, 2048> text;
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): libbpf starts it
  const int n = std::vsnprintf(text.data(), text.size(), format, arguments);
  last_message() = text.data();
  while (!last_message().empty() && last_message().back() == '\n') last_message().pop_back();
  return n;
}

/// Return why this process cannot load an XDP program, or an empty string if it can.
inline std::string missing_right() {
  constexpr std::uint64_t kNetAdmin = std::uint64_t{1} << 12;  // linux/capability.h
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  constexpr std::uint64_t kBpf = std::uint64_t{1} << 39;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t has = 0;
    if (word != "CapEff:" || !(status >> std::hex >> has)) continue;
    if ((has & kSysAdmin) != 0 || (has & (kBpf | kNetAdmin)) == (kBpf | kNetAdmin)) return {};
  }
  return "loading an XDP program needs CAP_BPF and CAP_NET_ADMIN: run as root";
}

/// Return why a driver's program does not do this, and what to do, or an empty string if it does. @param max_frame  bytes with
/// FCS
inline std::string unsupported(std::uint32_t cores, std::uint32_t max_frame) {
  if (cores != 1) return "the kernel spreads packets over CPUs itself: name one CPU for the server's loop";
  if (max_frame > kMostFrame)
    return "a driver's frame must lie in one page: give frames of at most " + std::to_string(kMostFrame) + " bytes";
  return {};
}

/// Return the port whose interface a program is attached to. @param whose  "flow-table, engine xdp" @throws Error when there is
/// no port, or it is of another kind
inline const PortInfo& port_of(const std::string& whose, std::span<const std::unique_ptr<Port>> ports) {
  if (ports.empty() || ports[0]->info().kind != kPortKind)
    throw Error(whose + ": needs a port of kind " + kPortKind + ", which names the interface");
  return ports[0]->info();
}

/// A program and its maps. They end with this object or with the process: nothing is pinned. Every method that the kernel may
/// refuse throws Error with the kernel's reason.
class Program {
 public:
  /// Open a compiled object. @param whose  "flow-table, engine xdp", for errors @param code  the object, which outlives this
  Program(std::string whose, std::span<const unsigned char> code) : whose_(std::move(whose)) {
    libbpf_set_print(keep_message);
    last_message().clear();
    object_.reset(bpf_object__open_mem(code.data(), code.size(), nullptr));
    if (object_ == nullptr) fail("the program cannot be read", errno);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (link_ >= 0) close(link_);
  }

  /// Set the number of entries of a map. Call this before load().
  void set_entries(const char* map, std::uint32_t entries) {
    bpf_map* const found = bpf_object__find_map_by_name(object_.get(), map);
    if (found == nullptr || bpf_map__set_max_entries(found, entries) != 0) fail("the map cannot be sized", errno);
  }

  /// Load the program. @param function  the program's name in its object @param with  " with a map of 5 flows", for errors
  void load(const char* function, const std::string& with = {}) {
    if (const int failed = bpf_object__load(object_.get()); failed != 0) {
      fail("the kernel does not load the program" + with +
               "; it needs CAP_BPF and CAP_NET_ADMIN, Linux 5.17 or newer with eBPF, and the memory",
           -failed);
    }
    program_ = bpf_program__fd(bpf_object__find_program_by_name(object_.get(), function));
  }

  /// Return the descriptor of a map. Call this after load(). This object owns the descriptor.
  [[nodiscard]] int map(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }

  /// Attach the program in the driver's own mode. It is detached when the link's descriptor is closed, by the destructor or by
  /// the process's end.
  void attach(const std::string& interface) {
    const unsigned index = if_nametoindex(interface.c_str());
    if (index == 0) fail("there is no interface '" + interface + "' in this network namespace", errno);
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = XDP_FLAGS_DRV_MODE;
    link_ = bpf_link_create(program_, static_cast<int>(index), BPF_XDP, &options);
    if (link_ < 0) {
      const int error = errno;
      fail(
          "cannot be attached to " + interface +
              " in its driver's mode; the driver must know XDP, no other XDP program may be there, and the MTU of both ends of a "
              "veth must let a frame lie in one page",
          error);
    }
  }

  /// Run the program on a frame in the kernel's test run. @returns its verdict, and the frame as it would go out
  [[nodiscard]] std::pair<std::uint32_t, std::vector<std::byte>> run(const std::vector<std::byte>& frame) const {
    std::vector<std::byte> out(frame.size());
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<std::uint32_t>(out.size());
    options.repeat = 1;
    if (const int failed = bpf_prog_test_run_opts(program_, &options); failed != 0) fail("the kernel's test run fails", -failed);
    out.resize(options.data_size_out);
    return {options.retval, std::move(out)};
  }

  [[noreturn]] void fail(const std::string& what, int error) const {
    std::string text = whose_ + ": " + what + ": " + std::strerror(error);
    if (!last_message().empty()) text += " (" + last_message() + ")";
    throw Error(text);
  }

 private:
  struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };

  std::string whose_;
  std::unique_ptr<bpf_object, Close> object_;
  int program_ = -1;
  int link_ = -1;
};

}  // namespace dpubench::datapath::xdp
