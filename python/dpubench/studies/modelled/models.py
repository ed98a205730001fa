"""Models of processors as runs name, keep and show them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpubench.cores import models
from dpubench.cores.comparison import Comparison
from dpubench.cores.models import Model
from dpubench.errors import Problem, UserError, nearest
from dpubench.plans.load import Where
from dpubench.studies.modelled.plan import MODEL_PREFIX


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A modelled processor, as a page describes it."""

    name: str
    title: str
    year: int
    architecture: str
    cores: int  #: of the product
    clock_mhz: float
    labels: list[str]  #: that stand beside its figures
    limits: list[str]  #: what the model leaves out
    sources: list[tuple[str, str, str]]  #: path in the description, its value, where it is from
    assumed: list[tuple[str, str, str]]  #: path, value, why it is assumed
    comparisons: list[tuple[str, str, str, str, str]]  #: what was published, its value, where; ours and its error, empty where it was not simulated


class Labelled(Protocol):
    """A point with the words that stand beside its figures."""

    @property
    def model(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...


def labels_of_some(points: Iterable[Labelled]) -> list[str]:
    """Labels that some of ``points`` have and others lack, each with its models: ``A64 trace: alpha21264-1999``."""
    chosen = list(points)
    having: dict[str, dict[str, None]] = {}
    for point in chosen:
        for label in point.labels:
            having.setdefault(label, {})[point.model] = None
    return [f"{label}: {', '.join(filter(None, names))}" for label, names in having.items() if any(label not in p.labels for p in chosen)]


def load_models(targets: Sequence[str], where: Where, other: str = "") -> tuple[dict[str, Model], list[Problem]]:
    """The models that ``targets`` name, by name; and what is wrong with the others. ``other``: what a target of the study may be besides."""
    found: dict[str, Model] = {}
    problems = []
    for i, target in enumerate(targets):
        name = target.removeprefix(MODEL_PREFIX)
        if not target.startswith(MODEL_PREFIX):
            known = [*(MODEL_PREFIX + name for name in models.names()), *([other] if other else [])]
            what = f", and not {other}" if other else ", and this study measures nothing"
            text = f"'{target}' is no model of a processor{what}{nearest(target, known)}"
            problems.append(where.problem(text, "target", i))
            continue
        try:
            found[name] = models.load(name)
        except UserError as error:
            problems.append(where.problem(str(error), "target", i))
    return found, problems


def digest(processor: Mapping[str, Any]) -> str:
    """Tells whether two descriptions are the same."""
    return hashlib.sha256(json.dumps(processor, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def described(model: Model) -> dict[str, Any]:
    """What a run keeps of a model: all that its page says of it, and the description itself."""
    return {
        "title": model.title, "year": model.year, "architecture": model.architecture, "labels": list(model.labels), "limits": list(model.limits),
        "cores": int(model.processor["organisation"]["cores"]), "clock_mhz": model.clock_mhz, "processor": model.processor,
        "sources": [[s.path, str(s.value), ", ".join(filter(None, (s.reference, s.at)))] for s in model.sources if not s.assumed],
        "assumed": [[s.path, str(s.value), s.assumed] for s in model.assumed],
        "comparisons": [
            [c.what, f"{'at most ' if c.at_most else ''}{c.value:g} {c.unit}", f"{c.source}, {c.at}; {c.machine}{_ours(c)}", "", ""]
            for c in model.comparisons
        ],
    }  # fmt: skip


def _ours(of: Comparison) -> str:
    """What gives our figure: it need not be what other figures of a run are of."""
    if of.kernel is None:
        return ""
    warm = f", after {of.warm_up_messages:,} that are not counted" if of.warm_up_messages else ""
    return f"; ours: {of.kernel.label}, {of.kernel.messages:,} messages one by one{warm}"


def info_of(name: str, entry: Mapping[str, Any]) -> ModelInfo:
    """Of what :func:`described` made."""
    return ModelInfo(
        name, str(entry["title"]), int(entry["year"]), str(entry["architecture"]), int(entry["cores"]), float(entry["clock_mhz"]),
        list(entry["labels"]), list(entry["limits"]), [tuple(s) for s in entry["sources"]], [tuple(s) for s in entry["assumed"]],
        [tuple(c) for c in entry["comparisons"]],
    )  # fmt: skip
