"""Frame sizes in plans: ``64B`` with FCS, or ``imix``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, PlainSerializer

from dpubench.plans import quantities as q

#: Limits of frame sizes, with FCS. native/datapath/frame/size.hpp declares them, and a test compares it with these and with the schemas.
SMALLEST_FRAME: Final = 64
LARGEST_FRAME: Final = 9018
IMIX: Final = "imix"
#: RFC 6985, section 1: frame sizes with FCS, and how many of 12.
IMIX_SIZES: Final = ((64, 7), (594, 4), (1518, 1))


def _frame(value: object) -> object:
    if value == IMIX:
        return IMIX
    size = q.size_bytes(value)
    if not SMALLEST_FRAME <= size <= LARGEST_FRAME:
        raise ValueError(f"a frame size must be from {SMALLEST_FRAME}B to {LARGEST_FRAME}B with FCS, or {IMIX}, not '{value}'")
    return size


Frame = Annotated[int | Literal["imix"], BeforeValidator(_frame), PlainSerializer(lambda v: v if v == IMIX else q.format_bytes(v))]


def mean_bytes(frame: str) -> float:
    """Return the mean size in bytes of a frame with FCS; ``frame`` is its size in bytes, or ``imix``."""
    if frame != IMIX:
        return float(frame)
    return sum(size * share for size, share in IMIX_SIZES) / sum(share for _, share in IMIX_SIZES)
