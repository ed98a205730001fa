#!/usr/bin/env python3
"""Converts foreign tables of routes and lists of rules, line by line, whatever they contain.

The first byte selects the kind of the rest: routes of IPv4 or IPv6, or rules of ModSecurity.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import guided


def converted(data: bytes) -> None:
    """Convert one input."""
    from dpubench import inputs

    if not data:
        return
    text = data[1:].decode("utf-8", "replace")
    if data[0] % 3 < 2:
        family = 4 if data[0] % 3 == 0 else 6
        made = inputs.convert_routes(text, family)
        # The native reader names bad lines by their number.
        assert made.endswith("\n") and made.count("\n") <= text.count("\n") + 1
    else:
        operands = inputs.crs_operands([text])
        assert len(set(operands)) == len(operands)
        assert all("%{" not in operand for operand in operands)


def imports() -> None:
    from dpubench import inputs  # noqa: F401


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield inputs of each kind."""
    yield "pyasn4", b"\0; IP-ASN32-DAT file\n; Original: rib\n1.0.0.0/24\t13335\n2001:db8::/32\t64500\n\n10.0.0.0/8\t7"
    yield "csv4", b"\0prefix,next_hop_id\n0.0.0.0/0,0\r\n# comment\n10.0.0.0/8,7\n"
    yield "csv6", b"\1prefix next\n2001:db8::/32,64500\n1.2.3.0/24,1\n ::/0 , 1\n"
    yield "rules", b'\2SecRule ARGS "@rx ^a\\"b\\\\\\\\c" \\\n  "id:1"\nSecRule X "!@rx (?i)d" "id:2"\nSecRule Y "@rx %{tx.a}"\nSecAction "id:3"\n'


FUZZER = guided.Fuzzer(
    "conversion", converted, imports, watched=("dpubench.inputs",), covered=("dpubench.inputs",), least_percent=20.0, seeds=seeds,
    dictionary=lambda: ("SecRule ", "@rx ", "!@rx ", "%{", "prefix", ";", "#", "\\\\t", "/24,", "::/"),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(guided.main(FUZZER, __file__))
