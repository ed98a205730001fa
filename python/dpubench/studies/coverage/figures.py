"""The figures of study ``coverage``: the seven characteristics, and the share of a whole program's phases inside the operators' hull."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure, Interval, Quantity
from dpubench.simulation.characteristics import CHARACTERISTICS, WORDS
from dpubench.studies.coverage import wording
from dpubench.studies.coverage.model import PointSummary, RunSummary
from dpubench.studies.modelled.plan import MODEL_PREFIX

_BETTER: Final[dict[str, Literal["more", "less"]]] = {"ipc": "more", "itlb_miss_ratio": "less", "dtlb_miss_ratio": "less", "l1d_miss_ratio": "less"}
OF_PROCESSOR: Final = tuple(Quantity(name, f"{WORDS[name]}, {wording.OF[name]}", "", _BETTER.get(name, "neither")) for name in CHARACTERISTICS)
SHARE_INSIDE: Final = Quantity("share_inside", "phases inside the operators' hull, share of all", "", "more")


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``."""
    return [figure for point in run.points for figure in _of(point, run)]


def _of(point: PointSummary, run: RunSummary) -> Iterator[Figure]:
    covered = {c.point: c.share for c in run.space.covered} if run.space is not None else {}
    values: list[tuple[Quantity, Interval | float | None]] = [(q, point.characteristics.get(q.name)) for q in OF_PROCESSOR]
    values = [(q, point.ipc if q.name == "ipc" and point.ipc is not None else value) for q, value in values]
    values.append((SHARE_INSIDE, covered.get(point.id)))
    parameters: dict[str, Any] = {
        "kind": point.kind,
        "name": point.name,
        "engine": point.engine,
        **point.params,
        "message_bytes": point.message_bytes,
    }
    is_modelled = point.model in {model.name for model in run.models}
    why_none = dict.fromkeys(CHARACTERISTICS, "not counted on this processor")
    why_none[SHARE_INSIDE.name] = "spans the hull itself" if point.kind == "operator" else "the run has too few operators for a hull"
    yield from of_point(
        run, point.id, {k: v for k, v in parameters.items() if v not in ("", None)}, values, origin="modelled" if is_modelled else "measured",
        target=f"{MODEL_PREFIX}{point.model}" if is_modelled else run.target, labels=point.labels, failure=point.failure, why_none=why_none,
    )  # fmt: skip
