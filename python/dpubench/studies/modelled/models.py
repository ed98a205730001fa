"""Models of processors in the form in which runs name, keep and show them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpubench.errors import Problem, UserError, nearest
from dpubench.plans.load import Where
from dpubench.simulation import models
from dpubench.simulation.comparison import Comparison
from dpubench.simulation.models import Model
from dpubench.studies.modelled.plan import MODEL_PREFIX


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A modelled processor in the form in which a page describes it."""

    name: str
    title: str
    year: int
    architecture: str
    cores: int  #: cores of the product
    clock_mhz: float
    labels: list[str]  #: labels printed beside its figures
    limits: list[str]  #: what the model leaves out
    sources: list[tuple[str, str, str]]  #: path in the description, its value, its source
    assumed: list[tuple[str, str, str]]  #: path, value, why it is assumed
    comparisons: list[tuple[str, str, str, str, str]]  #: published figure, value, source; our value and its error, both empty if not simulated


class Labelled(Protocol):
    """A point with the labels printed beside its figures."""

    @property
    def model(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...


def labels_of_some(points: Iterable[Labelled]) -> list[str]:
    """Return the labels that some of ``points`` have and others lack, each with its models: ``A64 trace: alpha21264-1999``."""
    chosen = list(points)
    having: dict[str, dict[str, None]] = {}
    for point in chosen:
        for label in point.labels:
            having.setdefault(label, {})[point.model] = None
    return [f"{label}: {', '.join(filter(None, names))}" for label, names in having.items() if any(label not in p.labels for p in chosen)]


def load_models(
    targets: Sequence[str], where: Where, other: str = "", at: Sequence[str | int] = ("target",)
) -> tuple[dict[str, Model], list[Problem]]:
    """Return the models that ``targets`` name, by name, and the problems of the other targets.

    ``other``: a target that the study accepts besides models; it appears only in the messages. ``at``: the place of ``targets`` in the plan.
    """
    found: dict[str, Model] = {}
    problems = []
    for i, target in enumerate(targets):
        name = target.removeprefix(MODEL_PREFIX)
        if not target.startswith(MODEL_PREFIX):
            known = [*(MODEL_PREFIX + name for name in models.names()), *([other] if other else [])]
            what = f", nor target {other}" if other else ", and this study runs only on models"
            text = f"'{target}' is not a model of a processor{what}{nearest(target, known)}"
            problems.append(where.problem(text, *at, i))
            continue
        try:
            found[name] = models.load(name)
        except UserError as error:
            problems.append(where.problem(str(error), *at, i))
    return found, problems


def digest(processor: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of a description. Equal descriptions have equal digests."""
    return hashlib.sha256(json.dumps(processor, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def described(model: Model) -> dict[str, Any]:
    """Return the record that a run keeps of a model: everything that the page says about it, and the description itself."""
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
    """Return in words the kernel behind our figure, which need not be a kernel of the run; empty if there is none."""
    if of.kernel is None:
        return ""
    warm = f", after {of.warm_up_messages:,} that are not counted" if of.warm_up_messages else ""
    return f"; ours: {of.kernel.label}, {of.kernel.messages:,} messages one by one{warm}"


def info_of(name: str, entry: Mapping[str, Any]) -> ModelInfo:
    """Rebuild a ModelInfo from the record written by :func:`described`."""
    return ModelInfo(
        name, str(entry["title"]), int(entry["year"]), str(entry["architecture"]), int(entry["cores"]), float(entry["clock_mhz"]),
        list(entry["labels"]), list(entry["limits"]), [tuple(s) for s in entry["sources"]], [tuple(s) for s in entry["assumed"]],
        [tuple(c) for c in entry["comparisons"]],
    )  # fmt: skip
