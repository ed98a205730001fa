"""Limits of bursts. ``native/base/burst.hpp`` declares them, and a test compares it with these and with the schemas."""

from __future__ import annotations

from typing import Final

MAX_BURST: Final = 256  #: items, or packets, in a burst
MAX_IN_FLIGHT: Final = 4096  #: jobs in flight on a lane
