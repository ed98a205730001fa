"""Comparison of two runs or models of study ``cores``, point by point, by messages per second (:mod:`dpubench.studies.modelled.versus`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from dpubench.analysis.model import Comparison
from dpubench.errors import UserError
from dpubench.studies import Part
from dpubench.studies.cores.model import PointSummary, RunSummary
from dpubench.studies.modelled.versus import ratio_of, verdict_of


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. In a single run compare each model with the first. @raises UserError"""
    if best:
        raise UserError("--best-engine: study cores compares points with the same engines: remove the option")
    if new is not None:
        return [Part("", compare(old[0].points, new[0].points, effect))]
    run = old[0]
    first, *others = [model.name for model in run.models]
    if not others:
        raise UserError(f"{run.path}: has only one model: name a second run, or run several models (--target model:A --target model:B)")
    base = [p for p in run.points if p.model == first]
    return [
        Part(_compared(name, first, run), compare(base, [p for p in run.points if p.model == name], effect, across=True), True) for name in others
    ]  # fmt: skip


def _compared(name: str, first: str, run: RunSummary) -> str:
    """Return what is compared, and where code of another instruction set stands for a model's own."""
    labels = {model: [label for label in p.labels if label.endswith(" trace")] for p in run.points for model in [p.model]}
    architectures = {model.name: model.architecture for model in run.models}
    stands = [
        f"{label.removesuffix(' trace')} code stands for {architectures[model]} code on {model}" for model in (first, name)
        for label in labels.get(model, [])
    ]  # fmt: skip
    return "; ".join([f"{name} against {first}: ratios of modelled messages/s, with as many cores, each model at its own clock", *stands])


def compare(old: Sequence[PointSummary], new: Sequence[PointSummary], effect: float, *, across: bool = False) -> list[Comparison]:
    """Return a row per point of ``old`` and its partner in ``new``, compared by messages per second.

    With ``across`` partners may be of different models. Then points of organisation ``described`` need not agree in clock, nor in the number of
    cores if it is above one.
    """
    partners = {_key(p, across): p for p in new}
    rows = []
    for point in old:
        partner = partners.pop(_key(point, across), None)
        if partner is None:
            rows.append(Comparison(point.id, point.id, None, None, "not comparable", None, "this point is not in the other"))
        else:
            rows.append(_row(point, partner, effect))
    rows += [Comparison(p.id, None, p.id, None, "not comparable", None, "this point is not in the other") for p in partners.values()]
    return rows


def _key(point: PointSummary, across: bool) -> Hashable:
    params = tuple(sorted(point.params.items()))
    clock = None if across and point.organisation == "described" else point.clock_mhz
    step = None if across and point.organisation == "described" and point.step > 1 else point.step
    own = (point.organisation, step, point.unit_sets, clock, point.variant)
    return (point.kernel, tuple(point.operators), tuple(point.engines), params, point.frame, None if across else point.model, *own)


def _row(old: PointSummary, new: PointSummary, effect: float) -> Comparison:
    for which, point in (("old", old), ("new", new)):
        if point.messages_per_s is None:
            return Comparison(new.id, old.id, new.id, None, "not comparable", None, f"{which}: {point.failure or 'not simulated'}")
    assert old.messages_per_s is not None and new.messages_per_s is not None  # the loop above checked both
    ratio = ratio_of(old.messages_per_s, new.messages_per_s)
    verdict = verdict_of(ratio, effect)
    reason = "the interval of sampled messages is too wide: use --exact or more messages" if verdict == "undecided" else ""
    return Comparison(new.id, old.id, new.id, ratio, verdict, None, reason)
