"""dpubench: what is worth moving from the host CPU to the network device."""

from __future__ import annotations

from pathlib import Path

#: The one place of the version is the file VERSION: Meson and the packaging read it too.
__version__ = Path(__file__).with_name("VERSION").read_text(encoding="ascii").strip()
