"""Tests of the A64 decoder against Capstone 6: every instruction of real libraries, and many words for every row of its tables."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import capstone
import pytest
from test_traces import programs_of_tests

LIBRARIES = Path("/usr/aarch64-linux-gnu/lib")
WORDS_PER_ROW = 100
KINDS: tuple[str, ...] = ("integer", "multiply", "divide", "load", "store", "atomic", "branch", "float", "float_divide")
KINDS += ("simd", "simd_multiply", "aes", "sha", "sha_schedule", "crc", "system", "nop", "unknown")
FLAGS = 64

#: Kinds that an instruction may have, by its name and operands: the first pattern that matches "name operands" counts.
BY_TEXT = (
    (r"(b|bl|br|blr|ret|reta[ab]|b\.\w+|bc\.\w+|cbn?z|tbn?z|bl?ra[ab]z?) ", "branch"),
    (r"(r?prfu?m|nop|yield|wf[ei]|sevl?|hint|bti|(pac|aut)i[ab](sp|z|1716)|xpaclri|esb|psb|tsb|csdb|dgh|clrbhb|chkfeat|stshh|pacm|gcsb) ", "nop"),
    (r"(swp|cas|casp)(a|l|al)?[bh]? |stl?x[rp][bh]? |(ld|st)(add|clr|eor|set|[su]max|[su]min)(a|l|al)?[bh]? ", "atomic"),
    (r"ld\w+ ", "load"),
    (r"st\w+ |dc (z|g|gz)va,", "store"),
    (r"crc32\w+ ", "crc"),
    (r"[su]div ", "divide"),
    (r"(m(add|sub)(pt)?|mul|mneg|[su](mull|mnegl|madd[l]|msub[l]|mulh)) [wx]", "multiply"),
    (r"(aes\w+|pmull2?) ", "aes"),
    (r"(sha\w+su[01]|sha1h|sm3partw[12]|sm4ekey|rax1) ", "sha_schedule"),
    (r"(sha\d\w+|sm[34]\w+) ", "sha"),
    (r"(fdiv|fsqrt) ", "float_divide"),
    (r"(rmif|setf(8|16)|cfinv|xaflag|axflag) ", "integer"),
    (
        r"(dmb|dsb|isb|sb|ssbb|pssbb|clrex|svc|hvc|smc|brk|hlt|eret|drps|mrs|msr|sysl?|dc|ic|at|tlbi|"
        r"cfp|cpp|dvp|cosp|brb|trcit|gcs\w+|wf[ei]t|dfb|tcommit|dcps\d) ",
        "system",
    ),
    (r"f\w+ v", "simd simd_multiply"),
    (r"f(mov|mla|mls|mulx?|recps|rsqrts) ", "float simd simd_multiply"),
    (r"(f\w+|[su]cvtf|bfcvt) ", "float simd"),
    (r"\w*(mul|mla|mls|mml|dot|mlal|mlsl|mull|cmla)\w* [vsdh]", "simd_multiply"),
    (r"\w+ [vbhsdq]\d", "simd"),
    (r"[su]mov ", "simd"),
    (r"mov [wx]\w+, v", "simd"),
    (r"\w+ ([wx]|sp|\d)", "integer"),
)


@dataclass(frozen=True)
class Decoded:
    """Our decoder's result for a word."""

    kind: str
    written: frozenset[int]
    read: frozenset[int]


def decode(words: Iterable[int]) -> list[Decoded]:
    text = "".join(f"{word:08x}\n" for word in words)
    done = subprocess.run([str(programs_of_tests() / "cores-decode")], input=text, capture_output=True, text=True, check=True, timeout=300)
    found = []
    for line in done.stdout.splitlines():
        written, _, read = line.partition(" <")
        _, kind, _, _, *numbers = written.split()
        found.append(Decoded(KINDS[int(kind)], _numbers(numbers), _numbers(read.split())))
    return found


def _numbers(words: Iterable[str]) -> frozenset[int]:
    return frozenset(int(word) for word in words if word != "|")


def register(name: str) -> frozenset[int]:
    """Return the register numbers of cores/instruction.hpp for a name of Capstone: both of a pair, none for a register without a number."""
    fixed = {"sp": 31, "wsp": 31, "nzcv": FLAGS, "fp": 29, "lr": 30}
    found = set()
    for part in name.split("_"):
        if part in fixed:
            found.add(fixed[part])
        elif match := re.fullmatch(r"([wxbhsdqv])(\d+)", part):
            found.add(int(match[2]) + (0 if match[1] in "wx" else 32))
    return frozenset(found)


def accesses(word: int, instruction: Any) -> tuple[frozenset[int], frozenset[int]]:
    """Return the registers read and written according to Capstone, corrected where it errs (6.0.0 alpha 11, against the Arm ARM)."""
    read, written = (set[int]().union(*(register(instruction.reg_name(r)) for r in registers)) for registers in instruction.regs_access())
    name = instruction.mnemonic
    names = re.findall(r"[a-z0-9]+", instruction.op_str)
    if re.fullmatch(r"cas(a|l|al)?[bh]?|ldg", name):  # Capstone reports the base as written instead of this register
        written = set(register(names[0]))
    if name.startswith("casp"):
        written = {*register(names[0]), *register(names[1])}
    if word & 0xBF800000 == 0x0D000000 and name.startswith("ld"):  # a lane without write-back: Capstone reports the base as written too
        written = {32 + (word + i) % 32 for i in range(int(name[2]))}
    if name == "fmov" and ".d[1], " in instruction.op_str:  # it keeps the lower half of the register
        read |= written
    if (name == "mrs" and names[-1] in ("RNDR", "RNDRRS")) or word & 0xFFFFFFC0 == 0xD53B2400:  # these set the flags too
        written |= {FLAGS}
    if re.fullmatch(r"bc?\.(al|nv)", name):  # always taken: it reads no flags
        read -= {FLAGS}
    if name == "tlbi" and not re.search(r"x\d|xzr", instruction.op_str):  # it ignores its register field
        read = set()
    return frozenset(read), frozenset(written)


def is_beyond(word: int, name: str) -> bool:
    """Return whether an instruction belongs to an extension that the decoder leaves out.

    These are SVE and SME, LS64, MOPS, atomics of 128 bits and of floating point, FP8, authentication with the program counter.
    """
    if word >> 25 & 0xF in (0, 1, 2, 3):
        return True
    if word >> 22 == 0b1101010100 and word >> 19 & 3 == 0:  # reserved hints; Capstone shows them as system registers
        return True
    beyond = r"cpy\w+|set[gpme]\w*|(ld|st)64b\w*|rcw\w+|"
    beyond += r"ldt?(add|clr|set)p?\w*|swpt?p?\w*|sysp|msrr|mrrs|ld[ai]?app?\w*|st[il]\w+p|gcs\w+|tcancel|auti[ab]sppc|reta[ab]sppcr?"
    floats = r"fmlal[lbt]*|fdot|fcvtn2?|b?f[12]?cvtl2?|fmmla|fscale|fam\w+|luti[24]|fvdot"
    return re.fullmatch(f"{beyond}|{floats}", name) is not None


def check(words: Iterable[int]) -> int:
    """Compare our decoder with Capstone on the words that Capstone knows; return how many were compared."""
    capstone_a64 = capstone.Cs(capstone.CS_ARCH_AARCH64, capstone.CS_MODE_ARM)
    capstone_a64.detail = True
    distinct = list(dict.fromkeys(words))
    compared, wrong = 0, []
    for word, ours in zip(distinct, decode(distinct), strict=True):
        instruction = next(capstone_a64.disasm(word.to_bytes(4, "little"), 0), None)
        if instruction is None or instruction.mnemonic == "udf":
            continue
        text = f"{word:08x} {instruction.mnemonic} {instruction.op_str}: {ours}"
        if ours.kind == "unknown":
            if not is_beyond(word, instruction.mnemonic):
                wrong.append(text)
            continue
        if word >> 25 & 7 == 7 and is_beyond(word, instruction.mnemonic):
            continue  # newer instructions in encodings that were reserved before
        compared += 1
        kinds = next((kinds for pattern, kinds in BY_TEXT if re.match(pattern, f"{instruction.mnemonic} {instruction.op_str}")), "unheard of")
        if ours.kind not in kinds.split():
            wrong.append(f"{text}, which is {kinds}")
        read, written = accesses(word, instruction)
        if ours.kind != "nop" and (read, written) != (ours.read, ours.written):
            wrong.append(f"{text}, Capstone reads {sorted(read)} and writes {sorted(written)}")
    assert wrong == [], f"{len(wrong)} of {compared}: " + "\n".join(wrong[:20])
    return compared


@pytest.mark.parametrize("library", ["libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1"])
def test_every_instruction_of_a_library_is_decoded_as_capstone_does(library: str) -> None:
    command = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", str(LIBRARIES / library), "/dev/stdout"]
    text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    assert check(int.from_bytes(text[i : i + 4], "little") for i in range(0, len(text) - 3, 4)) > 10_000


def test_words_of_every_row_are_decoded_as_capstone_does() -> None:
    rows = subprocess.run([str(programs_of_tests() / "cores-decode"), "--rows"], capture_output=True, text=True, check=True, timeout=60).stdout
    generator = random.Random(1)

    def words() -> Iterable[int]:
        for line in rows.splitlines():
            mask, value = (int(word, 16) for word in line.split())
            for _ in range(WORDS_PER_ROW):
                yield value | generator.getrandbits(32) & ~mask

    assert check(words()) > 15_000


def test_any_words_are_decoded_as_capstone_does() -> None:
    generator = random.Random(2)
    assert check(generator.getrandbits(32) for _ in range(60_000)) > 15_000
