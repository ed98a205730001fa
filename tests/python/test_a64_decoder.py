"""The A64 decoder against Capstone 6: of real libraries every instruction, of every row of its tables many words."""

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
WORDS_PER_ROW = 200
KINDS = ("integer", "multiply", "divide", "load", "store", "atomic", "branch", "float", "float_divide")
KINDS += ("simd", "simd_multiply", "crypto", "crc", "system", "nop", "unknown")
FLAGS = 64

#: Of which kind an instruction is by its name: the first that matches the whole of it.
BY_NAME = (
    (r"b|bl|br|blr|ret|reta[ab]|b\.\w+|bc\.\w+|cbn?z|tbn?z|bl?ra[ab]z?", "branch"),
    (r"prfu?m|nop|yield|wf[ei]|sevl?|hint|bti|(pac|aut)i[ab](sp|z|1716)|xpaclri|esb|psb|tsb|csdb|dgh|clrbhb|gcsb|chkfeat|stshh|pacm", "nop"),
    (r"(ld|st)?(add|clr|eor|set|[su]max|[su]min)(a|l|al)?[bh]?", "atomic|other"),
    (r"(swp|cas|casp)(a|l|al)?[bh]?|stl?x[rp][bh]?|(ld|st)(add|clr|eor|set|[su]max|[su]min)(a|l|al)?[bh]?", "atomic"),
    (r"ld\w+", "load"),
    (r"st\w+", "store"),
    (r"crc32\w+", "crc"),
    (r"[su]div", "divide"),
    (r"aes\w+|sha\w+|sm[34]\w+|rax1|pmull2?", "crypto"),
    (r"dmb|dsb|isb|sb|ssbb|pssbb|clrex|svc|hvc|smc|brk|hlt|eret|drps|mrs|msr|sysl?|dc|ic|at|tlbi|dcps\d|cfp|cpp|dvp|brb|trcit|gcs\w+", "system"),
    (r"fdiv|fsqrt", "float_divide"),
)


@dataclass(frozen=True)
class Decoded:
    """What our decoder says of a word."""

    kind: str
    written: frozenset[int]
    read: frozenset[int]


def decode(words: Iterable[int]) -> list[Decoded]:
    text = "".join(f"{word:08x}\n" for word in words)
    done = subprocess.run([programs_of_tests() / "cores-decode"], input=text, capture_output=True, text=True, check=True, timeout=300)
    found = []
    for line in done.stdout.splitlines():
        written, _, read = line.partition(" <")
        _, kind, _, _, *numbers = written.split()
        found.append(Decoded(KINDS[int(kind)], _numbers(numbers), _numbers(read.split())))
    return found


def _numbers(words: Iterable[str]) -> frozenset[int]:
    return frozenset(int(word) for word in words if word != "|")


def register(name: str) -> frozenset[int]:
    """The numbers of cores/instruction.hpp of what Capstone names; of a pair both; nothing of what they do not have."""
    fixed = {"sp": 31, "wsp": 31, "nzcv": FLAGS, "fp": 29, "lr": 30}
    found = set()
    for part in name.split("_"):
        if part in fixed:
            found.add(fixed[part])
        elif match := re.fullmatch(r"([wxbhsdqv])(\d+)", part):
            found.add(int(match[2]) + (0 if match[1] in "wx" else 32))
    return frozenset(found)


def accesses(instruction: Any) -> tuple[frozenset[int], frozenset[int]]:
    """Registers read and written according to Capstone, put right where it errs (6.0.0-alpha, against the Arm ARM)."""
    read, written = (set().union(*(register(instruction.reg_name(r)) for r in registers)) for registers in instruction.regs_access())
    name, operands = instruction.mnemonic, instruction.op_str
    if re.fullmatch(r"cas(a|l|al)?[bh]?", name):  # it writes what was compared, not the base
        written = set(register(operands.split(",")[0]))
    if name.startswith("casp"):  # it does not write the base
        written -= register(operands.split("[")[1].strip("]")) - set().union(*(register(r.strip()) for r in operands.split(",")[:2]))
    if name == "fmov" and ".d[1], " in operands:  # FMOV into the upper half keeps the lower
        read |= written
    if re.fullmatch(r"ld[1-4]", name) and "]," not in operands.partition("[x")[2] and "], [" in operands and not operands.endswith("!"):
        base = register(operands.rpartition("[")[2].strip("]"))  # a lane without write-back writes no base
        written -= base
    if name == "ldg":
        written = set(register(operands.split(",")[0]))
    if name == "msr" and re.match(r"s0_", operands):  # reserved hints and barriers
        read, written = set(), set()
    if name == "mrs" and operands.endswith(("RNDR", "RNDRRS")):  # they set the flags too
        written |= {FLAGS}
    if re.fullmatch(r"bc?\.(al|nv)", name):  # always taken
        read -= {FLAGS}
    if name == "tlbi":  # a register where none is printed: the field is ignored
        read = set()
    return frozenset(read), frozenset(written)


def is_beyond(word: int, name: str) -> bool:
    """Whether an instruction belongs to an extension that the decoder leaves out: SVE and SME, LS64, MOPS, 128-bit and float atomics, FP8."""
    if word >> 25 & 0xF in (0, 1, 2, 3):
        return True
    beyond = r"cpy\w+|set[gpme]\w*|(ld|st)64b\w*|rcw\w+|ldt?(add|clr|set)p?\w*|swpt?p?\w*|sysp|msrr|mrrs|ld[ai]?app?\w*|st[il]\w+p|gcs\w+"
    floats = r"fmlal[lbt]*|fdot|fcvtn2?|b?f[12]?cvtl2?|fmmla|fscale|fam\w+|luti[24]|fvdot"
    return re.fullmatch(f"{beyond}|{floats}", name) is not None


def check(words: Iterable[int]) -> int:
    """Compares the words that Capstone knows and returns how many they were."""
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
            continue  # later instructions in encodings that were reserved
        compared += 1
        kinds = next((kind for pattern, kind in BY_NAME if re.fullmatch(pattern, instruction.mnemonic)), ours.kind)
        if ours.kind not in kinds.split("|") and "other" not in kinds and not (instruction.mnemonic == "dc" and ours.kind == "store"):
            wrong.append(f"{text}, of kind {kinds}")
        read, written = accesses(instruction)
        if ours.kind != "nop" and (read, written) != (ours.read, ours.written):
            wrong.append(f"{text}, Capstone reads {sorted(read)} and writes {sorted(written)}")
    assert wrong == [], f"{len(wrong)} of {compared}: " + "\n".join(wrong[:20])
    return compared


@pytest.mark.parametrize("library", ["libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1"])
def test_every_instruction_of_a_library_is_decoded_as_capstone_does(library: str) -> None:
    command = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", LIBRARIES / library, "/dev/stdout"]
    text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    assert check(int.from_bytes(text[i : i + 4], "little") for i in range(0, len(text) - 3, 4)) > 10_000


def test_words_of_every_row_are_decoded_as_capstone_does() -> None:
    rows = subprocess.run([programs_of_tests() / "cores-decode", "--rows"], capture_output=True, text=True, check=True, timeout=60).stdout
    generator = random.Random(1)

    def words() -> Iterable[int]:
        for line in rows.splitlines():
            mask, value = (int(word, 16) for word in line.split())
            for _ in range(WORDS_PER_ROW):
                yield value | generator.getrandbits(32) & ~mask

    assert check(words()) > 30_000


def test_any_words_are_decoded_as_capstone_does() -> None:
    generator = random.Random(2)
    assert check(generator.getrandbits(32) for _ in range(200_000)) > 60_000
