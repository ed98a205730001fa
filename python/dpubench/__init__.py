"""dpubench: what is worth moving from the host CPU to the network device."""

from __future__ import annotations

__version__ = "0.1.0"
