"""JSON from untrusted programs, devices and files: only values that can be computed with, stored and written pass.

The ``json`` module accepts more: whole numbers of any size, 1e999 as infinity, and texts with halves of surrogate pairs, which no file and no
terminal accepts. One such value would make a run unreadable long after the measurement.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

#: Largest value in a column of 64-bit numbers.
LARGEST: Final = (1 << 63) - 1
#: Largest count in a window: a sum over 32,768 windows stays within :data:`LARGEST`, and no window of hours reaches it.
LARGEST_COUNT: Final = 1 << 48
LONGEST_MESSAGE: Final = 4096  #: characters
_MESSAGES: Final = ("message", "reason", "detail")


def decoded(data: bytes) -> Any:
    """Return the value of a JSON text in UTF-8.

    Messages longer than :data:`LONGEST_MESSAGE` are cut.

    Raises:
        ValueError: it is no JSON, or holds a number out of range or a text that cannot be written.
    """
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if b"\\ud" in data or b"\\uD" in data:
        _check_texts(value)
    return _cut_within(value) if len(data) > LONGEST_MESSAGE else value


def cut(text: str) -> str:
    """Return ``text``, or its beginning with the length of the rest, in at most :data:`LONGEST_MESSAGE` characters.

    The limit keeps a reader from cutting it again.
    """
    if len(text) <= LONGEST_MESSAGE:
        return text
    kept = LONGEST_MESSAGE - 40
    return f"{text[:kept]} ... ({len(text) - kept} more characters)"


def _whole(text: str) -> int:
    # With more digits Python itself would take minutes.
    if len(text) > 20 or abs(number := int(text)) > LARGEST:
        raise ValueError(f"{text[:24]} is out of range")
    return number


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:24]} is out of range")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        value.encode("utf-8")  # UnicodeEncodeError is a ValueError
    elif isinstance(value, dict):
        for key, held in value.items():
            key.encode("utf-8")
            _check_texts(held)
    elif isinstance(value, list):
        for held in value:
            _check_texts(held)


def _cut_within(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: cut(v) if k in _MESSAGES and isinstance(v, str) else _cut_within(v) for k, v in value.items()}
    return [_cut_within(v) for v in value] if isinstance(value, list) else value


_DECODER: Final = json.JSONDecoder(parse_int=_whole, parse_float=_real, parse_constant=_no_constant)
