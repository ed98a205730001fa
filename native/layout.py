#!/usr/bin/env python3
"""Writes the orders in which the functions of a library are linked: its *code layouts*.

    layout.py LIBRARY FOLDER COUNT OBJECT...

FOLDER receives `LIBRARY.layout-K.ld` for K from 1 to COUNT - 1. Each is a fragment of a linker script (GNU ld, INSERT) that places every function of
the objects, which were compiled with -ffunction-sections. Layout 0 is the linker's own order and has no file.

Three things differ between layouts, and a processor sees all three (docs/methodology.md, "Rounds"): where in a page the code begins, the order of the
functions, and by how many bytes (a multiple of 16) a function begins behind the beginning of a cache line. All of them are drawn by a hash of the
layout's number and the name, and of nothing else. A function that is in two builds therefore has the same place in a cache line in the same layout of
both, and the same neighbours as far as those are in both. The same sources give the same files.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from pathlib import Path

PAGE = 4096
LINE = 64
#: What the compiler aligns loops to; a function that is moved by a multiple of it keeps them aligned.
STEP = 16
#: Functions that are hardly ever executed stay where the linker puts them.
COLD = (".text.unlikely", ".text.startup", ".text.exit")
SHF_EXECINSTR = 4


def functions(data: bytes) -> list[str]:
    """Return the names of the sections of functions in a relocatable object (ELF-64, gABI chapter 4)."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("is no ELF-64 object")
    order = "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + "Q", data, 40)
    size, count, names = struct.unpack_from(order + "HHH", data, 58)
    headers = [struct.unpack_from(order + "IIQQQQ", data, table + i * size) for i in range(max(count, 1))]
    if count == 0:  # more than fits: they stand in the first header
        count, names = headers[0][5], struct.unpack_from(order + "I", data, table + 40)[0]
        headers = [struct.unpack_from(order + "IIQQQQ", data, table + i * size) for i in range(count)]
    elif names == 0xFFFF:
        (names,) = struct.unpack_from(order + "I", data, table + 40)
    strings = headers[names][4]
    found = []
    for name, _kind, flags, _address, _offset, length in headers:
        text = data[strings + name : data.index(b"\0", strings + name)].decode()
        if flags & SHF_EXECINSTR and length and text.startswith(".text.") and not text.startswith(COLD):
            found.append(text)
    return found


def drawn(layout: int, what: str, name: str) -> int:
    """Return the number that belongs to a name in a layout."""
    return int.from_bytes(hashlib.blake2b(f"{layout}/{what}/{name}".encode(), digest_size=8).digest(), "big")


def fragment(library: str, sections: set[str], layout: int) -> str:
    """Return the part of a linker script that places ``sections``."""
    lines = ["SECTIONS", "{", f"  .text.layout : SUBALIGN({STEP})", "  {", f"    . = . + {drawn(layout, 'page', library) % (PAGE // LINE) * LINE};"]
    for name in sorted(sections, key=lambda s: (drawn(layout, "order", s), s)):
        lines.append(f'    . = ALIGN({LINE}) + {drawn(layout, "line", name) % (LINE // STEP) * STEP}; *("{name}")')
    return "\n".join([*lines, "  }", "}", "INSERT BEFORE .text;", ""])


def main() -> None:
    """Writes the files that the arguments name."""
    library, folder, count, *objects = sys.argv[1:]
    sections: set[str] = set()
    for path in objects:
        try:
            sections |= set(functions(Path(path).read_bytes()))
        except (ValueError, struct.error, IndexError) as error:
            sys.exit(f"layout.py: {path}: {error}: compile it for a 64-bit machine, without link-time optimisation")
    for layout in range(1, int(count)):
        (Path(folder) / f"{library}.layout-{layout}.ld").write_text(fragment(library, sections, layout), encoding="ascii")


if __name__ == "__main__":
    main()
