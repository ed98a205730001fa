"""Readable text for the parameters of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def size_text(size: int) -> str:
    """Return a size in bytes as readable text, with a binary unit only where it is exact."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


def parameter_text(name: str, value: str, unit: str = "") -> str:
    """Return ``1 KiB`` for ``size=1024``; a bare number keeps its name, a word stands alone."""
    if (unit == "B" and value.isdigit()) or (name == "size" and value.isdigit()):
        return size_text(int(value)) if name == "size" else f"{name.replace('_', ' ')} {size_text(int(value))}"
    if name.endswith("_bits") and value.isdigit():
        return f"{value} bit"
    return f"{name.replace('_', ' ')} {value}" if value.replace(".", "").isdigit() else value


def parameters_text(params: Mapping[str, str], operator: Mapping[str, Any]) -> str:
    """Return all parameters of a configuration, in the order of the operator's catalog entry: ``gcm encrypt 128 bit 1 KiB``."""
    known = {str(entry["name"]): entry for entry in operator.get("parameters", [])}
    ordered = sorted(params, key=lambda name: (list(known).index(name) if name in known else len(known), name))
    return " ".join(parameter_text(name, params[name], str(known.get(name, {}).get("unit", ""))) for name in ordered)


def layout_text(threads: int, footprint: str) -> str:
    """Return threads and footprint as text: ``1 thread, stream footprint``."""
    return f"{threads} thread{'' if threads == 1 else 's'}, {footprint} footprint"
