"""Warnings about figures of earlier versions of an operator that must not be read as its name suggests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dpubench.analysis.model import Warning_
from dpubench.studies.operators.model import PointSummary

CODE: Final = "superseded"


@dataclass(frozen=True, slots=True)
class _Change:
    operators: tuple[str, ...]
    version: int  #: the change concerns points of versions before this one
    concerns: Callable[[PointSummary], bool]
    reason: str


_CHANGES: Final = (
    _Change(
        ("lpm", "toeplitz", "checksum"),
        2,
        lambda p: p.footprint == "stream" and (p.operator != "checksum" or p.params.get("mode") == "incremental"),
        "the footprint counted whole packets, but one line of each is read: keys and lines stayed in L2, and the rates are too high for `stream`",
    ),
    _Change(
        ("deflate", "huffman", "lz77", "snappy", "regex"),
        2,
        lambda p: p.footprint == "stream",
        "there were so few distinct messages that branch predictors learned them: the rates are too high, most of all with small messages",
    ),
    _Change(
        ("ip_fragment", "tcp_segment"),
        2,
        lambda p: p.engine == "dpdk",
        "engine dpdk wrote its chains of mbufs out as records in the timed loop: its rate is too low, and its ratios to other engines mean nothing",
    ),
)


def warnings(points: Iterable[PointSummary]) -> list[Warning_]:
    """Return one warning for each change that concerns measured ``points``."""
    found = []
    measured = [p for p in points if p.rounds]
    for change in _CHANGES:
        concerned = [p for p in measured if p.operator in change.operators and p.operator_version < change.version and change.concerns(p)]
        if concerned:
            names = ", ".join(dict.fromkeys(p.operator for p in concerned))
            found.append(Warning_(CODE, f"{names} ({len(concerned)} of an earlier version): {change.reason}"))
    return found
