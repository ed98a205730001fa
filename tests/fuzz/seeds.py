#!/usr/bin/env python3
"""Writes the inputs from which a fuzzer starts: small, well-formed files of every variant that a parser knows.

python3 tests/fuzz/seeds.py TARGET DIRECTORY
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

Seeds = Iterator[tuple[str, bytes]]


def ipv4(protocol: int, payload: bytes, options: bytes = b"", fragment: int = 0) -> bytes:
    """Return an IPv4 packet. Checksums stay zero, because parsers do not look at them."""
    first = 0x40 | (20 + len(options)) // 4
    total = 20 + len(options) + len(payload)
    header = struct.pack(">BBHHHBBH", first, 0, total, 1, fragment, 64, protocol, 0)
    return header + bytes([198, 18, 0, 1, 198, 19, 0, 1]) + options + payload


def ipv6(next_header: int, payload: bytes, length: int | None = None) -> bytes:
    """Return an IPv6 packet. `length` overrides the payload length."""
    length = len(payload) if length is None else length
    return struct.pack(">IHBB", 6 << 28, length, next_header, 64) + bytes(range(32)) + payload


TCP = struct.pack(">HHIIBBHHH", 1024, 80, 1, 2, 0x60, 0x10, 65535, 0, 0) + b"\1\1\1\0" + b"data"
UDP = struct.pack(">HHHH", 1024, 53, 12, 0) + b"data"
SCTP = struct.pack(">HHII", 1024, 9, 1, 2) + b"data"
V4 = ipv4(6, TCP)
V6 = ipv6(17, UDP)

IP_PACKETS: dict[str, bytes] = {
    "tcp4": V4,
    "udp6": V6,
    "sctp4": ipv4(132, SCTP),
    "options4": ipv4(17, UDP, options=b"\1\1\1\0"),
    "fragment4": ipv4(17, b"later", fragment=0x2001),
    "segmentation4": V4[:2] + b"\0\0" + V4[4:],
    "esp6": ipv6(50, b"12345678"),
    "none6": ipv6(59, b""),
    "segmentation6": ipv6(6, TCP, length=0),
    "jumbo6": ipv6(0, bytes([17, 0, 0xC2, 4, 0, 1, 0, 8]) + UDP, length=0),
    "padded_jumbo6": ipv6(0, bytes([17, 1, 0, 1, 2, 0, 0, 0xC2, 4, 0, 1, 0, 8, 0, 0, 0]) + UDP, length=0),
    "extensions6": ipv6(
        0,
        bytes([43, 0, 1, 4, 0, 0, 0, 0])
        + bytes([60, 0, 0, 0, 0, 0, 0, 0])
        + bytes([51, 0, 1, 4, 0, 0, 0, 0])
        + bytes([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        + bytes([6, 0, 0, 1, 0, 0, 0, 9])
        + TCP,
    ),
    "fragment6": ipv6(44, bytes([6, 0, 0, 9, 0, 0, 0, 9]) + b"later"),
}

MACS = bytes(12)
LLC = b"\xaa\xaa\x03\0\0\0"
BEACON = b"\x80\0" + bytes(22)
DATA = b"\x08\0" + bytes(22)

FRAMES: list[tuple[str, int, bytes]] = [
    ("null_little", 0, b"\2\0\0\0" + V4),
    ("null_big", 0, b"\0\0\0\x1e" + V6),
    ("null_other", 0, b"\7\0\0\0" + V4),
    ("loop", 108, b"\0\0\0\2" + V4),
    ("ethernet_padded", 1, MACS + b"\x08\0" + ipv4(17, UDP) + bytes(20)),
    ("arp", 1, MACS + b"\x08\x06" + bytes(28)),
    ("qinq", 1, MACS + b"\x88\xa8\0\1\x91\0\0\2\x81\0\0\3\x86\xdd" + V6),
    ("vlan_llc", 1, MACS + b"\x81\0\0\1\0\x80" + LLC + b"\x08\0" + V4),
    ("mpls", 1, MACS + b"\x88\x47\0\1\0\x40\0\2\1\x40" + V4),
    ("pseudowire", 1, MACS + b"\x88\x48\0\2\1\x40" + bytes(18)),
    ("pppoe", 1, MACS + b"\x88\x64\x11\0\0\1\0\x60\0\x21" + V4),
    ("pppoe_padi", 1, MACS + b"\x88\x64\x11\x09\0\1\0\0"),
    ("length_illegal", 1, MACS + b"\x05\xf0" + V4),
    ("llc_ip", 1, MACS + b"\0\x80\6\6\3" + V4),
    ("llc_stp", 1, MACS + b"\0\x80\x42\x42\3" + bytes(35)),
    ("llc_numbered", 1, MACS + b"\0\x80\6\6\0" + V4),
    ("snap_cisco", 1, MACS + b"\0\x80\xaa\xaa\3\0\0\x0c\x20\0" + bytes(9)),
    ("token_ring", 6, b"\x10\x40" + bytes(6) + b"\x80" + bytes(5) + b"\4\0\0\0" + LLC + b"\x08\0" + V4),
    ("slip", 8, bytes(16) + V4),
    ("ppp", 9, b"\xff\3\0\x57" + V6),
    ("ppp_short", 9, b"\x21" + V4),
    ("ppp_mpls", 9, b"\2\x81\0\2\1\x40" + V6),
    ("ppp_lcp", 9, b"\xff\3\xc0\x21" + bytes(8)),
    ("fddi", 10, b"\x50" + MACS + LLC + b"\x08\0" + V4),
    ("hdlc_ppp", 50, b"\xff\3\0\x21" + V4),
    ("hdlc_cisco", 50, b"\x0f\0\x08\0" + V4),
    ("pppoe_link", 51, b"\x11\0\0\1\0\x60\0\x21" + V4),
    ("chdlc", 104, b"\x0f\0\x86\xdd" + V6),
    ("wlan", 105, DATA + LLC + b"\x08\0" + V4),
    ("wlan_qos_wds", 105, b"\x88\x83" + bytes(28) + b"\0\0" + bytes(4) + LLC + b"\x08\0" + V4),
    ("wlan_beacon", 105, BEACON),
    ("wlan_amsdu", 105, b"\x88\1" + bytes(22) + b"\x80\0" + bytes(20)),
    ("radiotap", 127, b"\0\0\x0c\0\0\0\0\x80\0\0\0\0" + DATA + LLC + b"\x08\0" + V4),
    (
        "radiotap_padded",
        127,
        b"\0\0\x11\0\3\0\0\0" + bytes(8) + b"\x20" + b"\x88\0" + bytes(24) + b"\0\0" + LLC + b"\x08\0" + V4,
    ),
    ("relay", 107, b"\x18\x41\3\xcc" + V4),
    ("relay_snap", 107, b"\x18\x41\3\0\x80\0\0\0\x08\0" + V4),
    ("relay_v6", 107, b"\x18\x40\x40\x01\3\x8e" + V6),
    ("relay_lmi", 107, b"\0\1\3\x08" + bytes(5)),
    ("relay_cisco", 107, b"\x18\x41\x08\0" + V4),
    ("sll", 113, bytes(14) + b"\x08\0" + V4),
    ("sll_llc", 113, bytes(14) + b"\0\4" + LLC + b"\x08\0" + V4),
    ("sll2", 276, b"\x86\xdd" + bytes(18) + V6),
    ("sll2_llc", 276, b"\0\4" + bytes(18) + LLC + b"\x08\0" + V4),
    ("ppi", 192, b"\0\0\x08\0\x69\0\0\0" + DATA + LLC + b"\x08\0" + V4),
    ("mpls_link", 219, b"\0\2\1\x40" + V4),
    ("raw4", 228, V4),
    ("raw6", 229, V6),
    ("raw4_lies", 228, V6),
    ("unknown", 147, V4),
]


def pcap(frames: list[bytes], link: int, order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    """Return a classic capture."""
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for i, frame in enumerate(frames):
        out += struct.pack(order + "IIII", 1_000_000_000 + i, 5, len(frame), len(frame))
        out += bytes(8) if magic == 0xA1B2CD34 else b""
        out += frame
    return out


def block(order: str, kind: int, body: bytes) -> bytes:
    """Return a pcapng block."""
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def option(order: str, code: int, value: bytes) -> bytes:
    """Return a pcapng option."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str, link: int, frames: list[bytes], resolution: int) -> bytes:
    """Return a pcapng section with every kind of packet block."""
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = option(order, 9, bytes([resolution])) + option(order, 13, b"\4")
    options += option(order, 14, struct.pack(order + "q", -1)) + option(order, 0, b"")
    out += block(order, 1, struct.pack(order + "HHI", link, 0, 96) + options)
    out += block(order, 1, b"")
    out += block(order, 5, bytes(12))
    for frame in frames:
        lengths = struct.pack(order + "II", len(frame), len(frame) + 4)
        out += block(order, 6, struct.pack(order + "III", 0, 1, 2) + lengths + frame)
        out += block(order, 2, struct.pack(order + "HHII", 0, 0, 1, 2) + lengths + frame)
        out += block(order, 3, struct.pack(order + "I", len(frame)) + frame)
        out += block(order, 6, struct.pack(order + "III", 9, 1, 2) + lengths + frame)
        out += block(order, 2, b"")
        out += block(order, 6, b"")
        out += block(order, 3, b"")
    return out


def capture() -> Seeds:
    """Yield captures."""
    for name, link, frame in FRAMES:
        yield name, pcap([frame], link)
    for name, packet in IP_PACKETS.items():
        yield "ip_" + name, pcap([packet], 101)
        yield "bare_" + name, packet
    yield "big_nano", pcap([V4, V6], 12, ">", 0xA1B23C4D)
    yield "kuznetzov", pcap([V4], 14, "<", 0xA1B2CD34)
    yield "fcs", pcap([MACS + b"\x08\0" + V4], 0x24000001, ">")
    yield "cut_header", pcap([], 1)[:20]
    yield "cut_record", pcap([V4], 101)[:30]
    yield "cut_frame", pcap([V4], 101)[:-3]
    yield "endless_record", pcap([], 101) + b"\0" * 8 + b"\xff" * 8
    yield "version", b"\xd4\xc3\xb2\xa1\3\0\4\0" + bytes(16)
    sections = section("<", 101, [V4], 9) + section(">", 1, [MACS + b"\x86\xdd" + V6], 0x94)
    yield "sections", sections + section("<", 101, [V4], 12)
    yield "ng_cut", sections[:-5]
    yield "ng_cut_header", sections[:20]
    yield "ng_version", sections[:12] + b"\2\0" + sections[14:]
    yield "ng_magic", sections[:8] + b"\0\0\0\0" + sections[12:]
    yield "ng_length", sections[:28] + b"\1\0\0\0\xfe\xff\xff\xff" + sections[36:]
    yield "ng_trailer", sections[:24] + b"\xff" + sections[25:]
    yield "gzip", b"\x1f\x8b\x08\0" + bytes(20)
    yield "text", b"not a capture at all"


def frame() -> Seeds:
    """Yield Ethernet frames, and IP packets without their Ethernet header."""
    for name, packet in IP_PACKETS.items():
        kind = b"\x08\0" if packet[0] >> 4 == 4 else b"\x86\xdd"
        yield "ethernet_" + name, MACS + kind + packet + bytes(24)
        yield "vlan_" + name, MACS + b"\x88\xa8\0\1\x81\0\0\2" + kind + packet
        yield "bare_" + name, packet
    for routing in (0, 2, 3, 4):
        addresses = bytes(16 if routing == 2 else 32)
        header = bytes([17, len(addresses) // 8, routing, 1, 0, 0, 0, 0]) + addresses
        yield f"routing_{routing}", ipv6(43, header + UDP)
    yield "arp", MACS + b"\x08\x06" + bytes(46)


def reassembly() -> Seeds:
    """Yield steps of four bytes: key and flags, sequence number, length."""

    def steps(*each: tuple[int, int, int]) -> bytes:
        return b"".join(struct.pack("<BHB", *step) for step in each)

    yield "in_order", steps(*((0, 20 * i, 20) for i in range(20)))
    yield "reversed", steps(*((0, 20 * i, 20) for i in reversed(range(6))))
    yield "overlapping", steps((0, 0, 30), (0, 10, 30), (0, 50, 20), (0, 20, 60))
    yield "spent", steps((0x20, 0, 30), (0, 60, 10), (0x20, 30, 10), (0, 0, 100))
    yield "flows", steps(*((i % 4, 10 * i, 12) for i in range(40)))
    yield "connection", steps((4, 99, 0), (0, 100, 10), (0x18, 0, 0), (4, 300, 5), (4, 300, 5))
    yield "pieces", steps(*((0, 2 * i, 1) for i in range(64)), (0, 0, 120))
    yield "far", steps((0, 0, 10), (0xC0, 40000, 10), (0, 0, 10), (0, 0, 125))


def prefixes() -> Seeds:
    """Yield prefix lists."""
    yield "list4", b"prefix,next_hop_id\n# comment\n0.0.0.0/0,0\n10.0.0.0/8,7\n10.128.0.0/9,4294967295 # default\r\n10.0.0.0/8,8\n"
    yield "list6", b"\xef\xbb\xbf::/0,1\n2001:db8::/32,64500\n::ffff:192.0.2.1/128,3\n2001:db8::/32,5\n"
    yield (
        "bad4",
        b"\n".join(
            [
                b"1.2.3/8,1",
                b"1.2.3.4/8,1",
                b"1.2.3.4,1",
                b"1.2.3.4/33,1",
                b"::/0,1",
                b"256.0.0.0/8,1",
                b"01.0.0.0/8,1",
                b"1.0.0.0/8",
                b"1.0.0.0/8,-1",
            ]
            + [b"1.0.0.0/8,4294967296", b"x"] * 3
        ),
    )
    yield "bad6", b"2001:db8::1/32,1\n2001::/129,1\n1.2.3.4/8,1\n2001:zz::/32,1\n2001:db8::/32,\n" + b"1" * 70 + b"/3,4\n"
    yield "sorted4", b"1.0.0.0/24,1\n1.0.1.0/24,2\n"
    yield "comments", b"# nothing\n\n"
    yield "gzip", b"\x1f\x8b\x08\0"


def rules() -> Seeds:
    """Yield rule lists."""
    yield "list", b"# comment\n1:/abc/\n2:/a\\/b/c/is\r\n3:/x{2}/HV8{min_offset=4,max_offset=9}\n  4://user/[0-9]+/edit$/  \n4:/again/\n"
    yield (
        "bad",
        b"\xef\xbb\xbf1:/ok/\n:/x/\nx:/x/\n99999999999:/x/\n5:x\n6:/\n7://\n8:/a/zz\n9:/a/i{open\n10:/a\0b/\n11:/a/i{}{}\nplain\n12",
    )
    yield "none", b"one\ntwo\nthree\nfour\n"
    yield "empty", b"# comment only\n"
    yield "gzip", b"BZh9"


def job() -> Seeds:
    """Yield jobs with every field, jobs with a single fault, and commands."""
    point = {"id": "p", "engine": "portable"}
    group = {"id": "g", "operator": "aes", "params": {"mode": "gcm"}, "threads": 2, "burst": 8, "footprint": "resident", "points": [point]}
    whole = {
        "schema": "dpubench.job/1",
        "seed": 3,
        "round": 1,
        "control": "stepped",
        "inputs": {"corpus": ["/a", "/b"]},
        "cache_dir": "/c",
        "cpus": [0, 1],
        "window": {"min_ms": 1.5, "max_ms": 20, "min_bursts": 10, "threaded_min_ms": 100},
        "cycles": 2,
        "canaries": False,
        "time_limit_s": 9.5,
        "groups": [group],
    }
    yield "whole", json.dumps(whole).encode()
    for key in whole:
        yield f"without_{key}", json.dumps({name: value for name, value in whole.items() if name != key}).encode()
        yield f"wrong_{key}", json.dumps(whole | {key: 1 if key not in ("seed", "round", "cycles", "time_limit_s") else "x"}).encode()
    for key in group:
        yield f"group_wrong_{key}", json.dumps(whole | {"groups": [group | {key: [] if key != "params" else {"size": 1}}]}).encode()
    yield "same_id", json.dumps(whole | {"groups": [group, group]}).encode()
    yield "wrong_lists", json.dumps(whole | {"inputs": {"rules": 1, "corpus": [7]}, "cpus": ["a"], "groups": [3], "speed": 1}).encode()
    traced = whole | {"control": "traced", "operations": 100, "groups": [group | {"threads": 1}]}
    yield "traced", json.dumps(traced).encode()
    yield "traced_threads", json.dumps(traced | {"groups": [group]}).encode()
    yield "traced_groups", json.dumps(traced | {"groups": [group, group], "operations": 0}).encode()
    yield "unknown_control", json.dumps(whole | {"control": "manual", "operations": -1}).encode()
    yield "window_command", b'{"window": "p"}'
    yield "end_command", b'{"end": true}'


def a64() -> Seeds:
    """Yield instruction words of every group, with and without write-back, zero register, and data beside an address."""
    groups = {
        "integer": (0x910003FD, 0xD2800020, 0x8B020021, 0x9B020C20, 0x1AC20820, 0xDAC01000, 0xFA420820, 0x9A9FB7E0),
        "control": (0x54FFFFE0, 0x14000001, 0x94000400, 0xB4000003, 0x36000003, 0xD65F03C0, 0xD63F0100, 0xD503201F, 0xD51B4203),
        "memory": (0xF9400041, 0xF81F0FE1, 0xA9BE7BFD, 0xA8C27BFD, 0xF8404420, 0x3DC00441, 0xC85F7C41, 0xC8017C62, 0xF8210062, 0x48227CC4),
        "structure": (0x4C402020, 0x4CDF2020, 0x0D40042F, 0x4D60C020, 0x0DFF2020),
        "vector": (0x1E622841, 0x9E670041, 0x1E622020, 0x4EA38441, 0x6F031441, 0x4E284841, 0x4EE3E041, 0x2F63C041, 0x6E0C0420),
        "unknown": (0, 0xFFFFFFFF, 0x25221CC1),
    }
    for name, words in groups.items():
        yield name, struct.pack(f"<{len(words)}I", *words)


def trace() -> Seeds:
    """Yield correct traces, and traces with a single fault. trace_fuzz.cpp describes the bytes before them."""
    magic = b"dpubtrac"
    accessed, mark = 1 << 63, 3 << 62

    def head(architecture: bytes = b"aarch64", version: int = 2) -> bytes:
        texts = (architecture, b"kernel", b"neoverse-n1", b"digest")
        return magic + struct.pack("<I", version) + b"".join(struct.pack("<I", len(t)) + t for t in texts)

    def block(number: int, pc: int, *words: int) -> bytes:
        return struct.pack(f"<IIQ{len(words)}I", number, len(words), pc, *words)

    def stream(*words: int) -> bytes:
        return magic + struct.pack(f"<{len(words) + 1}Q", 2, *words)

    def case(blocks: bytes, words: bytes, as_it_is: int = 0) -> bytes:
        return struct.pack("<BH", as_it_is, len(blocks)) + blocks + words

    def framed(content: bytes, checksum: bool = True) -> bytes:
        return zstandard.ZstdCompressor(write_checksum=checksum).compress(content)

    table = head() + block(0, 0x1000, 1, 2, 3) + block(1, 0x2000, 4)
    ended = table + struct.pack("<II", 0xFFFFFFFF, 2)
    load, store = accessed | 3 << 58 | 0x7000, accessed | 1 << 61 | 2 << 48 | 0x8000
    yield "whole", case(ended, stream(mark, mark | 2, 1, 0, load, load + 8, store, mark | 1, mark | 4 << 8 | 3))
    yield "framed", case(framed(ended), framed(stream(mark, mark | 1, mark | 3)), 3)
    wrong_streams = {
        "no_end": (mark, 0, mark | 1),
        "open_twice": (mark, mark),
        "close": (mark | 1,),
        "message": (mark | 2,),
        "outside": (0,),
        "no_block": (mark, 2),
        "no_owner": (mark, load),
        "index": (mark, 1, store),
        "late": (mark, 0, store, load),
        "mark": (mark | 9,),
        "unclosed": (mark, mark | 3),
        "unopened": (mark | 3,),
        "count": (mark, 0, mark | 1, mark | 7 << 8 | 3),
        "more": (mark, mark | 1, mark | 3, 0),
    }
    for name, words in wrong_streams.items():
        yield name, case(ended, stream(*words))
    yield "word", case(ended, stream(mark) + b"x")
    yield "version", case(ended, magic + struct.pack("<Q", 9))
    yield "short", case(ended, magic)
    wrong_tables = {
        "table_magic": b"dpubtrax" + ended[8:],
        "table_version": head(version=1),
        "architecture": head(b"x86_64"),
        "text": magic + struct.pack("<II", 1, 1 << 30),
        "cut": table[:-2],
        "number": head() + block(1, 0x1000, 1),
        "empty": head() + block(0, 0x1000),
        "odd": head() + block(0, 0x1002, 1),
        "behind": ended + b"x",
    }
    for name, blocks in wrong_tables.items():
        yield name, case(blocks, stream(mark, mark | 1, mark | 3))
    yield "cut_frame", case(framed(ended)[:-5], b"", 1)
    yield "no_frame", case(b"no frame at all", b"", 1)
    yield "two_frames", case(framed(table) + framed(ended[len(table) :]), framed(stream(mark, mark | 1, mark | 3)), 3)
    yield "behind_frame", case(framed(ended) + b"x", b"", 1)
    yield "long_frame", case(framed(bytes((1 << 20) + 1)), b"", 1)
    yield "no_checksum", case(framed(ended, checksum=False), b"", 1)


def agent() -> Seeds:
    """Yield frames of the agent's protocol (native/agent/connection.hpp): every request, correct and wrong."""

    def frame(kind: bytes, payload: bytes, program: int = 0) -> bytes:
        return kind + struct.pack(">HI", program, len(payload)) + payload

    def request(*, program_number: int = 0, **words: object) -> bytes:
        return frame(b"R", json.dumps(words).encode(), program_number)

    content = b"10.0.0.0/8,1\n"
    digest = hashlib.sha256(content).hexdigest()
    put = request(do="put", sha256=digest, name="routes", bytes=len(content))
    yield "put", put + frame(b"D", content[:5]) + frame(b"D", content[5:]) + frame(b"E", b"")
    again = request(do="have", files=[{"sha256": digest, "name": "routes", "bytes": len(content)}])
    yield "have", put + frame(b"D", content) + frame(b"E", b"") + again
    yield "other_content", put + frame(b"D", b"x" * len(content)) + frame(b"E", b"")
    yield "more", put + frame(b"D", content * 2)
    yield "less", put + frame(b"D", b"1") + frame(b"E", b"")
    yield "in_between", put + again
    yield "elsewhere", request(do="put", sha256=digest, name="../routes", bytes=1)
    yield "no_digest", request(do="put", sha256="../..", name="routes", bytes=1)
    run = request(program_number=1, do="run", program="dpubench-operators", arguments=["--list"], environment={"A": "b"})
    yield "run", run
    yield "run_data", run + frame(b"D", b"x", 1) + frame(b"E", b"", 1) + frame(b"K", b"", 1) + frame(b"T", b"\0\0\0\1", 1)
    yield "run_two", run + request(program_number=2, do="run", program="dpubench-server", arguments=[], environment={})
    yield "run_again", run + run
    yield "run_never", run + frame(b"D", b"x", 7)
    yield "run_other", request(program_number=1, do="describe")
    yield "run_nobody", request(do="run", program="dpubench-operators", arguments=[], environment={})
    yield "run_layout", request(program_number=1, do="run", program="layouts/1/dpubench-operators", arguments=[], environment={})
    yield "run_elsewhere", request(program_number=1, do="run", program="../../../bin/sh", arguments=[], environment={})
    yield "describe", request(do="describe")
    yield "verify", request(do="verify", manifest="0" * 64)
    manifest = hashlib.sha256(b'{"files": {"lib/missing": "0"}}').hexdigest()
    yield "verify_content", request(do="verify", manifest=manifest)
    yield "cache", request(do="cache") + request(do="tidy")
    yield "unknown", request(do="remove")
    yield "no_request", frame(b"D", b"x")
    yield "no_json", frame(b"R", b"{")
    yield "long", b"R\0\0\xff\xff\xff\xff"
    yield "no_frame", b"Last login: today\n"


def applications() -> Seeds:
    """Yield inputs of each application, behind a byte that selects it (applications_fuzz.cpp)."""
    for i, url in enumerate(
        (b"http://User@Example.COM:8080/a/%2e%2E/b//c/./d?x=1+2%20#f", b"https://[2001:db8::1]/", b"//host/path", b"ftp://a.:0/..", b"nothing")
    ):
        yield f"url{i}", b"\0" + url
    one = b"GET /a/../b%41?q=1 HTTP/1.1\r\nHost: Example.com\r\n\r\n"
    two = b"POST http://h/x HTTP/1.0\r\ncontent-length: 5\r\nHOST: h:80\r\n\r\nhello" + one
    yield "request", b"\1" + one
    yield "requests", b"\1" + two
    yield "no_request", b"\1" + b"SSH-2.0-OpenSSH\r\n\r\n"
    yield "wrong_length", b"\1" + b"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"
    yield "chunked", b"\1" + b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield "stream", b"\2" + b"".join(struct.pack(">HB", at, 16) + bytes(16) for at in (0, 2, 1, 5, 4, 3, 0xF000))
    packet = ipv4(17, UDP)
    for algorithm in (0, 1):
        yield f"esp{algorithm}", b"\3" + bytes([algorithm + 20]) + packet + bytes(range(40))
        yield f"esp_received{algorithm}", b"\3" + bytes([algorithm]) + struct.pack(">II", 0x1234, 1) + bytes(64)
    for name, body in IP_PACKETS.items():
        kind = b"\x08\0" if body[0] >> 4 == 4 else b"\x86\xdd"
        yield f"frame_{name}", b"\4" + MACS + kind + body
    yield "frame_tagged", b"\4" + MACS + b"\x81\0\0\1\x08\0" + checked(V4)
    yield "frame_forwarded", b"\4" + MACS + b"\x08\0" + checked(V4) + bytes(9)
    yield "frame_expired", b"\4" + MACS + b"\x08\0" + checked(V4[:8] + b"\1" + V4[9:])
    yield "frame_multicast", b"\4" + MACS + b"\x08\0" + checked(V4[:16] + b"\xe0\0\0\1" + V4[20:])
    for i, rule in enumerate((b"abc", b"a(bc|de)f+ghij", b"(?i)UserAgent:[^x]*evil", b"\\x41\\d{2,3}long text\\.", b"[a-z]+$", b"(", b"a|b")):
        yield f"rule{i}", b"\5" + rule


def checked(packet: bytes) -> bytes:
    """Return an IPv4 packet with a 20-byte header after setting its checksum (RFC 1071)."""
    header = packet[:10] + b"\0\0" + packet[12:20]
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return packet[:10] + struct.pack(">H", ~total & 0xFFFF) + packet[12:]


def codecs() -> Seeds:
    """Yield streams of each format behind the operation and the room for the result (codecs_fuzz.cpp), and texts to pack."""

    def case(what: int, content: bytes, room: int = 4000) -> bytes:
        return bytes([what]) + struct.pack("<H", room) + content

    text = b"to be or not to be, that is the question: whether 'tis nobler in the mind to suffer " * 3
    noise = bytes((i * 197 + i * i * 31) % 256 for i in range(600))
    # Frequencies like Fibonacci numbers give codes that are longer than any limit.
    numbers = [1, 1]
    while len(numbers) < 18:
        numbers.append(numbers[-1] + numbers[-2])
    deep = b"".join(bytes([65 + i]) * n for i, n in enumerate(numbers))[:4000]
    texts = {"text": text, "noise": noise, "deep": deep, "zeros": bytes(1500), "short": b"abc", "empty": b"", "one": b"aaaa"}
    for name, content in texts.items():
        yield f"pack_{name}", case(3, content)
        for level, strategy in ((0, 0), (1, 0), (9, 0), (6, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY)):
            packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
            packed = packer.compress(content) + packer.flush()
            yield f"deflate_{name}_{level}_{strategy}", case(0, packed[:4000], len(content))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    yield "deflate_little_room", case(0, packed, len(text) - 1)
    yield "deflate_cut", case(0, packed[:-3])
    yield "deflate_reserved", case(0, b"\7")
    yield "deflate_stored", case(0, b"\1\3\0\xfc\xffabc") + b"behind"
    yield "deflate_stored_wrong", case(0, b"\1\3\0\0\0abc")
    yield "lz4_literals", case(1, b"\x30abc")
    yield "lz4_match", case(1, b"\x44abcd\4\0\x50efghi")
    yield "lz4_long", case(1, b"\xff\1" + b"x" * 16 + b"\1\0\xff\7\x50efghi")
    yield "lz4_far", case(1, b"\x14a\xff\xff\x50efghi")
    yield "snappy_literals", case(2, b"\3\x08abc")
    yield "snappy_copies", case(2, b"\x14\x0cabcd\x01\4\x0e\4\0\x0f\4\0\0\0\x04ef")
    yield "snappy_long_literal", case(2, b"\x64\xf0\x63" + b"y" * 100)
    yield "snappy_length", case(2, b"\xff\xff\xff\xff\x0f")


def programs() -> Seeds:
    """Yield jobs of the server and the client with every field, and commands; each job also with a single fault."""
    port = {"kind": "veth", "role": "server", "arguments": {"interface": "eth0"}}
    workload = {"name": "flow-table", "params": {"flows": "1000"}, "engines": {"table": "portable"}}
    common = {"seed": 1, "time_limit_s": 60, "memory": {"huge_pages": False, "mb": 128}, "burst": 32, "max_frame": 1518, "workload": workload,
              "inputs": {"rules": ["/r"]}, "cache_dir": "/c"}  # fmt: skip
    server = {"schema": "dpubench.server-job/1", "ports": [port], "cpus": [0, 1], "sample_every": 16, "stages": ["table"], **common}
    model = {"source": "model", "flows": 10, "popularity": "zipf", "zipf_exponent": 1.1, "churn_per_s": 5, "protocol": "tcp", "version": 6,
             "segments": 3, "retransmit_share": 0.1, "overlap_share": 0.2, "payload": {"source": "corpus", "signature_share": 0.5},
             "frame_sizes": [[64, 1], [1518, 0.5]]}  # fmt: skip
    client = {"schema": "dpubench.traffic-job/1", "port": port | {"role": "client"}, "cpu": 1, "verify": "all", "receive": True, "traffic": model,
              **common}  # fmt: skip
    commands = [
        {"begin": 1, "ramp_s": 0.1, "duration_s": 1, "keep_flows": True, "receive_work": [5]},
        {"trial": {"number": 1, "schedule": "burst", "rate_pps": 1e6, "burst_packets": 32, "ramp_s": 0.1, "duration_s": 1, "drain_s": 0.1}},
        {"trial": {"number": 1, "schedule": "flood", "ramp_s": 0, "duration_s": 1, "drain_s": 0}},
        {"trial": {"number": 1, "schedule": "recorded", "ramp_s": 0, "duration_s": 1, "drain_s": 0}},
        {"fill": 1}, {"collect": 1}, {"collect": 2, "dump": "/d"}, {"check": 1, "dump": "/d"}, {"end": True}, {"stop": 1},
    ]  # fmt: skip
    with_server = client | {"server": server, "traffic": {"source": "capture", "as": "recorded"}}
    jobs = {"server": server, "client": client, "with_server": with_server}
    for name, whole in jobs.items():
        yield name, json.dumps(whole).encode()
        for key, value in whole.items():
            yield f"{name}_without_{key}", json.dumps({k: v for k, v in whole.items() if k != key}).encode()
            yield f"{name}_wrong_{key}", json.dumps(whole | {key: "x" if not isinstance(value, str) else 7}).encode()
    for key in model:
        yield f"traffic_wrong_{key}", json.dumps(client | {"traffic": model | {key: -1}}).encode()
    for i, command in enumerate(commands):
        yield f"command{i}", json.dumps(command).encode()


def jobs() -> Seeds:
    """Yield jobs and commands of the smaller programs, each with every field, without one, and with a wrong one (jobs_fuzz.cpp)."""
    port = {"kind": "port", "port": "memif", "role": "client", "arguments": {"socket": "/s"}}
    sender = {
        "schema": "dpubench.headroom-job/1", "role": "sender", "seed": 1, "time_limit_s": 60, "threads": 2, "cpus": [0, 1], "max_packet": 1514,
        "memory": {"huge_pages": False, "mb": 256}, "destination_mac": "02:00:00:00:00:02", "backend": port, "inputs": {"rules": ["/r"]},
        "operator": {"name": "crc", "engine": "portable", "params": {"size": "64"}}, "cache_dir": "/c",
    }  # fmt: skip
    trial = {"number": 1, "size": 64, "threads": 1, "burst": 32, "reuse": 1, "duration_s": 0.1, "delay": "spacing", "delay_ns": 100, "verify": True}
    link = {"schema": "dpubench.link-job/1", "role": "client", "address": "::1", "port": 5000, "test": "transfer", "file_bytes": 100,
            "protection": "tls", "duration_s": 1, "seed": 1, "cpu": 0, "time_limit_s": 60}  # fmt: skip
    latency = {key: value for key, value in link.items() if key not in ("file_bytes", "protection")} | {"test": "latency", "message_bytes": 64}
    forwarder = {key: value for key, value in sender.items() if key not in ("destination_mac", "operator")} | {"role": "forwarder", "out": port}
    wholes: list[tuple[int, str, dict[str, object]]] = [
        (0, "sender", sender), (0, "sink", {**sender, "role": "sink"}), (0, "forwarder", forwarder),
        (0, "udp", {**sender, "backend": {"kind": "udp", "arguments": {"peer": "1.2.3.4:5"}}}),
        (0, "pktgen", {**sender, "backend": {"kind": "pktgen", "arguments": {"interface": "eth0"}}}), (1, "trial", {"trial": trial}),
        (1, "begin", {"begin": 1}), (1, "collect", {"collect": 1, "expected": 2}), (1, "forward", {"forward": trial}), (1, "end", {"end": True}),
        (2, "link", link), (2, "latency", latency),
        (2, "server", {**link, "role": "server", "port": 0}),
    ]  # fmt: skip
    for kind, name, whole in wholes:
        parts: list[tuple[str, dict[str, object]]] = [("", whole)]
        parts += [(f"_without_{key}", {k: v for k, v in whole.items() if k != key}) for key in whole]
        parts += [(f"_wrong_{key}", whole | {key: 7 if isinstance(value, (str, dict, list)) else "x"}) for key, value in whole.items()]
        parts += [(f"_far_{key}", whole | {key: -1}) for key, value in whole.items() if isinstance(value, (int, float))]
        parts.append(("_more", whole | {"more": 1}))
        for part, content in parts:
            yield f"{name}{part}", bytes([kind]) + json.dumps(content).encode()
    for key, value in trial.items():
        wrong = 7 if isinstance(value, str) else -1
        yield f"trial_wrong_{key}", b"\1" + json.dumps({"trial": trial | {key: wrong}}).encode()
        yield f"trial_without_{key}", b"\1" + json.dumps({"trial": {k: v for k, v in trial.items() if k != key}}).encode()


TARGETS: dict[str, Callable[[], Seeds]] = {
    "a64": a64,
    "agent": agent,
    "applications": applications,
    "codecs": codecs,
    "programs": programs,
    "capture": capture,
    "frame": frame,
    "job": job,
    "jobs": jobs,
    "prefixes": prefixes,
    "reassembly": reassembly,
    "rules": rules,
    "trace": trace,
}


def write_seeds(target: str, directory: Path) -> None:
    """Write one file per seed. A target without seeds starts only from its corpus."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in TARGETS.get(target, lambda: iter(()))():
        (directory / name).write_bytes(content)


def main() -> int:
    """Write the seeds of one target. Return the exit status."""
    if len(sys.argv) != 3 or sys.argv[1] not in TARGETS:
        print(f"usage: seeds.py {{{','.join(TARGETS)}}} DIRECTORY", file=sys.stderr)
        return 2
    write_seeds(sys.argv[1], Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
