// flow-table, engine xdp: runs in the kernel's driver for every frame, counts its flow and sends it back. What has a key, and
// which, is as parse() (datapath/frame/parse.cpp) and make_key() (key.hpp) have it; xdp.cpp compares them on every start.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "xdp_shared.h"

#define ETHERNET 14
#define VLAN_TAG 4
#define MOST_VLAN_TAGS 2
#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_SERVICE 0x88a8
#define TYPE_OLD_SERVICE 0x9100
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_FRAGMENT 44
#define PROTOCOL_AUTHENTICATION 51
#define PROTOCOL_SCTP 132
// A driver's frame lies in one page; every extension header takes at least eight bytes of it.
#define OFFSET_MASK 0xfff
#define MOST_EXTENSIONS 440
#define ADDRESS_BYTES 6

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // xdp.cpp says how many
  __type(key, struct xdp_key);
  __type(value, struct xdp_counters);
} flows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct xdp_state);
} state SEC(".maps");

// A frame, and where its IP packet ends. All offsets are from `data`.
struct frame {
  const __u8* data;
  const __u8* data_end;
  __u32 length;
  __u32 end;
};

// Where the addresses lie, and the ports where there are some.
struct headers {
  __u32 ip;
  __u32 transport;
  __u8 version;
  __u8 protocol;
  __u8 has_ports;
};

// Reads beyond the frame give 0: lengths are compared before, and the verifier wants it said once more.
static __always_inline __u32 byte_at(const struct frame* frame, __u32 at) {
  const __u8* p = frame->data + (at & OFFSET_MASK);
  return p + 1 > frame->data_end ? 0 : p[0];
}

static __always_inline __u32 be16_at(const struct frame* frame, __u32 at) {
  const __u8* p = frame->data + (at & OFFSET_MASK);
  return p + 2 > frame->data_end ? 0 : (__u32)p[0] << 8 | p[1];
}

// Whether the headers are sound; fills in the ports' place.
static __always_inline int transport(const struct frame* frame, struct headers* h, __u32 protocol, __u32 at, int is_first_fragment) {
  __u32 room = frame->end - at;
  __u32 header;
  h->protocol = protocol;
  if (protocol == PROTOCOL_TCP) {
    if (room < 20) return 0;
    header = (byte_at(frame, at + 12) >> 4) * 4;
    if (header < 20 || header > room) return 0;
  } else if (protocol == PROTOCOL_UDP) {
    if (room < 8) return 0;
    header = be16_at(frame, at + 4);
    if (header < 8 || (header > room && !is_first_fragment)) return 0;
  } else if (protocol == PROTOCOL_SCTP) {
    if (room < 12) return 0;
  } else {
    return 1;
  }
  h->transport = at;
  h->has_ports = 1;
  return 1;
}

static __always_inline int ipv4(struct frame* frame, struct headers* h, __u32 at) {
  __u32 first, header, total, fragment;
  if (frame->length - at < IPV4_HEADER) return 0;
  first = byte_at(frame, at);
  header = (first & 0xf) * 4;
  total = be16_at(frame, at + 2);
  if (first >> 4 != 4 || header < IPV4_HEADER || total < header || total > frame->length - at) return 0;
  frame->end = at + total;
  h->version = 4;
  h->ip = at;
  fragment = be16_at(frame, at + 6);
  h->protocol = byte_at(frame, at + 9);
  if (fragment & 0x1fff) return 1;
  return transport(frame, h, h->protocol, at + header, (fragment & 0x2000) != 0);
}

static __always_inline int is_extension(__u32 protocol) {
  return protocol == 0 || protocol == 43 || protocol == PROTOCOL_FRAGMENT || protocol == PROTOCOL_AUTHENTICATION || protocol == 60 ||
         protocol == 135 || protocol == 139 || protocol == 140;
}

// On the way through the extension headers of IPv6.
struct walk {
  struct xdp_md* ctx;
  __u32 end;
  __u32 at;
  __u32 protocol;
  __u8 is_first_fragment;
  __u8 is_later_fragment;
  __u8 is_sound;
};

// One extension header. A callback of bpf_loop (Linux 5.17): of a loop, the verifier follows every chain of headers there can be.
static long pass_extension(__u32 index __attribute__((unused)), struct walk* walk) {
  struct frame frame = {.data = (const __u8*)(long)walk->ctx->data, .data_end = (const __u8*)(long)walk->ctx->data_end};
  __u32 at = walk->at, protocol = walk->protocol;
  __u32 bytes = 8;
  if (!is_extension(protocol)) return 1;
  walk->is_sound = 0;
  if (walk->end - at < 8) return 1;
  walk->protocol = byte_at(&frame, at);
  if (protocol == PROTOCOL_AUTHENTICATION) {
    bytes = (byte_at(&frame, at + 1) + 2) * 4;
  } else if (protocol != PROTOCOL_FRAGMENT) {
    bytes = (byte_at(&frame, at + 1) + 1) * 8;
  }
  if (bytes > walk->end - at) return 1;
  walk->is_sound = 1;
  if (protocol == PROTOCOL_FRAGMENT) {
    __u32 fragment = be16_at(&frame, at + 2);
    if (fragment & 0xfff8) {
      walk->is_later_fragment = 1;
      return 1;
    }
    walk->is_first_fragment |= fragment & 1;
  }
  walk->at = at + bytes;
  return 0;
}

static __always_inline int ipv6(struct xdp_md* ctx, struct frame* frame, struct headers* h, __u32 start) {
  struct walk walk = {.ctx = ctx, .at = start + IPV6_HEADER, .is_sound = 1};
  __u32 length;
  if (frame->length - start < IPV6_HEADER) return 0;
  length = be16_at(frame, start + 4);
  if (byte_at(frame, start) >> 4 != 6 || length > frame->length - start - IPV6_HEADER) return 0;
  frame->end = walk.end = start + IPV6_HEADER + length;
  h->version = 6;
  h->ip = start;
  walk.protocol = byte_at(frame, start + 6);
  if (is_extension(walk.protocol)) bpf_loop(MOST_EXTENSIONS, pass_extension, &walk, 0);
  if (!walk.is_sound) return 0;
  h->protocol = walk.protocol;
  if (walk.is_later_fragment) return 1;
  return transport(frame, h, walk.protocol, walk.at, walk.is_first_fragment);
}

static __always_inline int parse(struct xdp_md* ctx, struct frame* frame, struct headers* h) {
  __u32 at = ETHERNET;
  __u32 type = be16_at(frame, at - 2);
  int tags;
#pragma clang loop unroll(full)
  for (tags = 0; tags < MOST_VLAN_TAGS; ++tags) {
    if (type != TYPE_VLAN && type != TYPE_SERVICE && type != TYPE_OLD_SERVICE) break;
    if (frame->length - at < VLAN_TAG) return 0;
    at += VLAN_TAG;
    type = be16_at(frame, at - 2);
  }
  if (type == TYPE_IPV4) return ipv4(frame, h, at);
  if (type == TYPE_IPV6) return ipv6(ctx, frame, h, at);
  return 0;
}

// Whether there is a key.
static __always_inline int make_key(struct xdp_md* ctx, struct frame* frame, int is_five_tuple, struct xdp_key* key) {
  struct headers h = {};
  const __u8* ip;
  if (!parse(ctx, frame, &h)) return 0;
  ip = frame->data + (h.ip & OFFSET_MASK);
  if (h.version == 4) {
    if (ip + IPV4_HEADER > frame->data_end) return 0;
    __builtin_memcpy(key->source, ip + 12, 4);
    __builtin_memcpy(key->destination, ip + 16, 4);
  } else {
    if (ip + IPV6_HEADER > frame->data_end) return 0;
    __builtin_memcpy(key->source, ip + 8, 16);
    __builtin_memcpy(key->destination, ip + 24, 16);
  }
  key->version = h.version;
  if (h.has_ports) key->destination_port = be16_at(frame, h.transport + 2);
  if (is_five_tuple) {
    key->protocol = h.protocol;
    if (h.has_ports) *(__u16*)key->rest = be16_at(frame, h.transport);
  } else {
    __builtin_memcpy(key->rest, frame->data + ADDRESS_BYTES, ADDRESS_BYTES);
    __builtin_memcpy(key->rest + ADDRESS_BYTES, frame->data, ADDRESS_BYTES);
  }
  return 1;
}

// Whether the packet found a place. Additions are atomic: packets of one flow may come on several CPUs.
static __always_inline int count(const struct xdp_key* key, __u32 bytes, struct xdp_state* s) {
  struct xdp_counters* counters = bpf_map_lookup_elem(&flows, key);
  if (!counters) {
    const struct xdp_counters none = {};
    // Another CPU may have been first; then this says so, and the flow is there.
    if (bpf_map_update_elem(&flows, key, &none, BPF_NOEXIST) == 0) __sync_fetch_and_add(&s->inserted, 1);
    counters = bpf_map_lookup_elem(&flows, key);
    if (!counters) return 0;
  }
  __sync_fetch_and_add(&counters->packets, 1);
  __sync_fetch_and_add(&counters->bytes, bytes);
  return 1;
}

static __always_inline void swap_addresses(__u8* data) {
  __u8 addresses[2 * ADDRESS_BYTES];
  __builtin_memcpy(addresses, data, sizeof addresses);
  __builtin_memcpy(data, addresses + ADDRESS_BYTES, ADDRESS_BYTES);
  __builtin_memcpy(data + ADDRESS_BYTES, addresses, ADDRESS_BYTES);
}

SEC("xdp")
int flow_table(struct xdp_md* ctx) {
  __u8* data = (__u8*)(long)ctx->data;
  __u8* data_end = (__u8*)(long)ctx->data_end;
  struct frame frame = {.data = data, .data_end = data_end};
  struct xdp_key key = {};
  __u32 zero = 0;
  struct xdp_state* s = bpf_map_lookup_elem(&state, &zero);
  if (!s || data + ETHERNET > data_end) return XDP_DROP;
  frame.length = data_end - data;
  __sync_fetch_and_add(&s->received, 1);
  if (!make_key(ctx, &frame, s->is_five_tuple, &key)) {
    __sync_fetch_and_add(&s->unkeyed, 1);
  } else if (!count(&key, frame.length + FCS_BYTES, s)) {
    __sync_fetch_and_add(&s->refused, 1);
    if (s->drops_when_full) return XDP_DROP;
  }
  swap_addresses(data);
  return XDP_TX;
}

char program_license[] SEC("license") = "Dual BSD/GPL";
