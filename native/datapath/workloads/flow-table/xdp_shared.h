// What the XDP program (xdp.bpf.c) and its loader (xdp.cpp) both see.
#pragma once

#include <linux/types.h>

#define FCS_BYTES 4

// The bytes of Key (key.hpp).
struct xdp_key {
  __u8 source[16];
  __u8 destination[16];
  __u16 destination_port;
  __u8 version;
  __u8 protocol;
  __u8 rest[12];
};

struct xdp_counters {
  __u64 packets;
  __u64 bytes;
};

// The settings, and what is counted beside the flows.
struct xdp_state {
  __u64 is_five_tuple;
  __u64 drops_when_full;
  __u64 received;
  __u64 unkeyed;
  __u64 inserted;
  __u64 refused;
};
