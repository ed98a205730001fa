"""Quantities with units, as people write them: ``1500B``, ``64KiB``, ``25Gb/s``, ``2Mpps``, ``10s``, ``5%``.

Each parser returns the base unit named in its docstring, or raises :class:`ValueError` whose message names the remedy. No parser guesses a unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

_BYTES: Final = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SECONDS: Final[Mapping[str, int | Decimal]] = {"ns": Decimal("1e-9"), "us": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": 1, "min": 60, "h": 3600}
_BIT_RATES: Final = {
    "b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12,
    "bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12,
}  # fmt: skip
_PACKET_RATES: Final = {"pps": 1, "kpps": 10**3, "Mpps": 10**6, "Gpps": 10**9}
_CLOCKS: Final = {"MHz": 1, "GHz": 1000}
_SHAPE: Final = re.compile(r"\s*([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([A-Za-z%/]*)\s*", re.ASCII)


def _parse(value: object, what: str, units: Mapping[str, int | Decimal], example: str) -> Decimal:
    text = str(value)
    match = _SHAPE.fullmatch(text)
    shown = text if len(text) <= 40 else text[:37] + "..."
    if isinstance(value, bool) or match is None:
        raise ValueError(f"'{shown}' is not a {what}: write a number with its unit, such as {example}")
    number, unit = match.groups()
    if not unit:
        raise ValueError(f"'{shown}' has no unit: write {number}{next(iter(units))} (units: {', '.join(units)})")
    if unit not in units:
        raise ValueError(f"'{unit}' is not a unit of a {what}: use one of {', '.join(units)}, such as {example}")
    return Decimal(number) * units[unit]


def size_bytes(value: object) -> int:
    """Return bytes: a whole number of at least 1."""
    size = _parse(value, "size", _BYTES, "1500B or 64KiB")
    if size <= 0:
        raise ValueError(f"a size must be at least 1 byte, not '{value}'")
    if size != int(size):
        raise ValueError(f"'{value}' is not a whole number of bytes")
    return int(size)


def duration_s(value: object) -> float:
    """Return seconds, above 0."""
    return _above_zero(value, "time", _SECONDS, "10s or 20min")


def rate_bps(value: object) -> float:
    """Return bits per second, above 0."""
    return _above_zero(value, "bit rate", _BIT_RATES, "25Gb/s")


def rate_pps(value: object) -> float:
    """Return packets per second, above 0."""
    return _above_zero(value, "packet rate", _PACKET_RATES, "2Mpps")


def clock_mhz(value: object) -> float:
    """Return MHz, above 0."""
    return _above_zero(value, "clock", _CLOCKS, "500MHz or 2.5GHz")


def _above_zero(value: object, what: str, units: Mapping[str, int | Decimal], example: str) -> float:
    number = _parse(value, what, units, example)
    if number <= 0:
        raise ValueError(f"a {what} must be above 0, not '{value}'")
    return float(number)


def fraction(value: object) -> float:
    """Return a share between 0 and 1, both excluded, from a text in percent."""
    share = _parse(value, "share", {"%": 1}, "5%") / 100
    if not 0 < share < 1:
        raise ValueError(f"a share must lie between 0% and 100%, not '{value}'")
    return float(share)


def count(value: object, what: str, most: int) -> int:
    """Return a whole number from 1 to ``most``."""
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
        raise ValueError(f"'{text[:40]}' is not a number of {what}: write a whole number from 1 to {most}")
    number = int(text)
    if not 1 <= number <= most:
        raise ValueError(f"the number of {what} must lie between 1 and {most}, not {number}")
    return number


def format_bytes(size: int) -> str:
    """Return a size as ``1500B`` or ``64KiB``: exact, readable by :func:`size_bytes`."""
    forms = [f"{size // factor}{unit}" for unit, factor in _BYTES.items() if size >= factor and size % factor == 0 and unit not in ("kB", "KB")]
    return min(forms, key=len)


def format_duration(seconds: float) -> str:
    """Return a time as ``3min``, ``90s`` or ``3ms``, readable by :func:`duration_s`. :func:`spoken` gives ``1 min 05 s`` for people."""
    if seconds >= 60 and seconds % 60 == 0:
        return f"{int(seconds // 60)}min"
    if seconds >= 1 or seconds == 0:
        return f"{seconds:g}s"
    return f"{seconds * 1e3:g}ms" if seconds >= 1e-3 else f"{seconds * 1e6:g}us"


def format_rate(bits_per_s: float) -> str:
    """Return a rate as ``100Mb/s`` or ``2.5Gb/s``, readable by :func:`rate_bps`."""
    unit = next(u for u in ("Tb/s", "Gb/s", "Mb/s", "kb/s", "b/s") if bits_per_s >= _BIT_RATES[u] or u == "b/s")
    return f"{bits_per_s / _BIT_RATES[unit]:.12g}{unit}"


def format_clock(mhz: float) -> str:
    """Return a clock as ``500MHz``, readable by :func:`clock_mhz`."""
    return f"{mhz:g}MHz"


def spoken(seconds: float) -> str:
    """Return a time for people: ``45 s``, ``3 min 05 s``, ``2 h 10 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
