// forward, engine xdp: runs in the kernel's driver for every frame and sends it back with its addresses swapped. The floor of
// what other programs do there: it counts what came, as they do, and nothing else.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define ETHERNET 14
#define ADDRESS_BYTES 6

// Packets that came with a whole Ethernet header.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} received SEC(".maps");

SEC("xdp")
int forward(struct xdp_md* ctx) {
  __u8* data = (__u8*)(long)ctx->data;
  __u8* data_end = (__u8*)(long)ctx->data_end;
  __u8 addresses[2 * ADDRESS_BYTES];
  __u32 zero = 0;
  __u64* count = bpf_map_lookup_elem(&received, &zero);
  if (!count || data + ETHERNET > data_end) return XDP_DROP;
  __sync_fetch_and_add(count, 1);  // atomic: packets may come on several CPUs
  __builtin_memcpy(addresses, data, sizeof addresses);
  __builtin_memcpy(data, addresses + ADDRESS_BYTES, ADDRESS_BYTES);
  __builtin_memcpy(data + ADDRESS_BYTES, addresses, ADDRESS_BYTES);
  return XDP_TX;
}

char program_license[] SEC("license") = "Dual BSD/GPL";
