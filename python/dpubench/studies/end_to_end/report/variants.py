"""Groups the points of a part into variants and names these."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

from dpubench.analysis.naming import parameter_text
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary
from dpubench.studies.end_to_end.report.page import Variant

_ORDER: Final = ("run", "placement", "port", "CPUs", "parameter", "traffic", "schedule")

Placed = tuple[int, PointSummary]  #: (run, point)


def _follows_from_the_frame(placed: Sequence[Placed]) -> set[str]:
    """Return the settings of the traffic that have a single value for each frame size of a run, such as the share of signatures.

    Frames without room for a signature carry none.
    """
    values: dict[str, dict[tuple[int, str], set[str]]] = {}
    for run, point in placed:
        for name, value in point.traffic.items():
            values.setdefault(name, {}).setdefault((run, point.frame), set()).add(value)
    return {name for name, of_frames in values.items() if all(len(v) == 1 for v in of_frames.values())}


def _traits(run_name: str, point: PointSummary, schedules: int, shared: Mapping[str, str], of_the_frame: Container[str]) -> dict[str, str]:
    """Return the traits that tell variants apart: trait -> words."""
    single = len(point.engines) == 1
    traits = {"run": run_name}
    traits |= {f"engines {stage}": engine if single else f"{stage} {engine}" for stage, engine in point.engines.items()}
    traits["placement"] = wording.placement_text(point)
    traits["port"] = point.port
    traits["CPUs"] = f"{point.server_cpus} server CPU{'' if point.server_cpus == 1 else 's'}"
    traits |= {f"parameter {name}": parameter_text(name, value) for name, value in sorted(point.params.items())}
    traits |= {
        f"traffic {name}": f"traffic {name.replace('_', ' ')} {value}"
        for name, value in sorted(point.traffic.items())
        if shared.get(name) != value and name not in of_the_frame
    }
    if schedules > 1 and point.load_kind == "rate":
        traits["schedule"] = point.schedule
    return traits


class Variants:
    """The variants of some points of one workload, in the order of the run. Variants of the null workload come last."""

    def __init__(self, placed: Sequence[Placed], run_names: Sequence[str], shared_traffic: Mapping[str, str]) -> None:
        """Group ``placed``. ``shared_traffic`` holds the settings of the traffic that all points of the page share; names leave them out."""
        schedules = len({p.schedule for _, p in placed if p.load_kind == "rate"})
        # Within one run, settings that follow from the frame size do not tell variants apart; two runs may differ in them.
        of_the_frame = _follows_from_the_frame(placed) if len(run_names) == 1 else set()
        found: dict[tuple[tuple[str, str], ...], list[Placed]] = {}
        for run, point in placed:
            key = (*_traits(run_names[run], point, schedules, shared_traffic, of_the_frame).items(), ("null", str(point.is_null)))
            found.setdefault(key, []).append((run, point))
        ordered = sorted(found, key=lambda key: dict(key)["null"] == "True")  # stable
        keys = {is_null: [dict(key) for key in ordered if (dict(key)["null"] == "True") == is_null] for is_null in (False, True)}
        self.of: list[Variant] = []
        self.points: list[list[Placed]] = []
        for key in ordered:
            members = found[key]
            run, point = members[0]
            traits = dict(key)
            is_null = traits.pop("null") == "True"
            alike = keys[is_null]
            differing = [name for name in traits if any(other.get(name) != traits[name] for other in alike)]
            self.of.append(
                Variant(
                    run=run,
                    label=_label(traits, differing, point),
                    told=", ".join(words for name, words in traits.items() if name != "run" or len(run_names) > 1),
                    placement=point.placement,
                    is_null=is_null,
                    correctness_only=all(wording.proves_correctness_only(p) for _, p in members),
                )
            )
            self.points.append(members)


def _label(traits: dict[str, str], differing: Sequence[str], point: PointSummary) -> str:
    """Return the traits that differ or, if none does, the engines and the placement. Engines of several stages are joined, in the stages' order."""
    engines = [engine for stage, engine in point.engines.items() if f"engines {stage}" in differing]
    others = sorted((n for n in differing if not n.startswith("engines ")), key=lambda n: _ORDER.index(n.split(" ", 1)[0]))
    words = [traits[name] for name in others]
    if engines:
        words.insert(1 if others and others[0] == "run" else 0, "+".join(engines))
    if point.is_null:
        return f"null workload ({', '.join(words)})" if words else "null workload"
    return ", ".join(words or filter(None, ["+".join(point.engines.values()), wording.placement_text(point)]))
