#!/usr/bin/env python3
"""Writes the *code layouts* of a library: orders in which its functions are linked.

    layout.py LIBRARY FOLDER COUNT OBJECT...

FOLDER receives `LIBRARY.layout-K.ld` for K from 1 to COUNT - 1. Each file is a fragment of a linker script (GNU ld, INSERT). It places every
function of the objects, which must be compiled with -ffunction-sections. Layout 0 is the linker's own order and has no file.

Layouts differ in three things, and a processor sees all three (docs/methodology.md, "Rounds"): the place in a page where the code begins, the
order of the functions, and the distance of a function from the beginning of a cache line (a multiple of 16 bytes). A hash of the layout's number
and the name draws all of them, and nothing else does. If two builds have the same function, a layout gives it the same place in a cache line in
both, and the same neighbours if both builds have those. The same sources give the same files.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from pathlib import Path

PAGE = 4096
LINE = 64
#: Alignment of loops by the compiler. Loops stay aligned when their function moves by a multiple of it.
STEP = 16
#: Functions that hardly ever run stay where the linker puts them.
COLD = (".text.unlikely", ".text.startup", ".text.exit")
SHF_EXECINSTR = 4


def functions(data: bytes) -> list[str]:
    """Return the names of the sections of functions in a relocatable object (ELF-64, gABI chapter 4)."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("is not an ELF-64 object")
    order = "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + "Q", data, 40)
    size, count, names = struct.unpack_from(order + "HHH", data, 58)
    headers = [struct.unpack_from(order + "IIQQQQ", data, table + i * size) for i in range(max(count, 1))]
    if count == 0:  # too many for the field: the first header has the numbers
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
    """Return the number that a hash draws for a name in a layout."""
    return int.from_bytes(hashlib.blake2b(f"{layout}/{what}/{name}".encode(), digest_size=8).digest(), "big")


def fragment(library: str, sections: set[str], layout: int) -> str:
    """Return the part of a linker script that places ``sections``."""
    lines = ["SECTIONS", "{", f"  .text.layout : SUBALIGN({STEP})", "  {", f"    . = . + {drawn(layout, 'page', library) % (PAGE // LINE) * LINE};"]
    for name in sorted(sections, key=lambda s: (drawn(layout, "order", s), s)):
        lines.append(f'    . = ALIGN({LINE}) + {drawn(layout, "line", name) % (LINE // STEP) * STEP}; *("{name}")')
    return "\n".join([*lines, "  }", "}", "INSERT BEFORE .text;", ""])


def main() -> None:
    """Write the files that the arguments name."""
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
