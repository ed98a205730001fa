#!/usr/bin/env python3
"""Writes a file's bytes as the elements of a C array: `embed.py INPUT OUTPUT`. The build embeds eBPF objects with it."""

import sys
from pathlib import Path

source, target = (Path(argument) for argument in sys.argv[1:])
content = source.read_bytes()
lines = (",".join(str(byte) for byte in content[at : at + 32]) for at in range(0, len(content), 32))
target.write_text(",\n".join(lines) + "\n", encoding="ascii")
