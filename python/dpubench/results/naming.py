"""Parameters of a configuration as people say them."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A size in bytes as people say it: binary units only where they are exact."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


def parameter_text(name: str, value: str, unit: str = "") -> str:
    """``size=1024`` as ``1 KiB``; a bare number keeps its name, a word speaks for itself."""
    if (unit == "B" and value.isdigit()) or (name == "size" and value.isdigit()):
        return size_text(int(value)) if name == "size" else f"{name.replace('_', ' ')} {size_text(int(value))}"
    if name.endswith("_bits") and value.isdigit():
        return f"{value} bit"
    return f"{name.replace('_', ' ')} {value}" if value.replace(".", "").isdigit() else value
