"""Comparisons of models with published figures of their processors: the simulations behind them, and their results in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpubench import scratch
from dpubench.catalog import inputs_of
from dpubench.errors import EnvironmentFault
from dpubench.simulation import reads, sweep
from dpubench.simulation.comparison import Comparison, compare
from dpubench.simulation.kernels import Kernel, Trace, cache_folder
from dpubench.simulation.models import Model
from dpubench.studies.modelled.planned import PlannedKernel


@dataclass(frozen=True)
class Wanted:
    """A published figure to compare with ours."""

    id: str
    model: str
    number: int  #: index among the model's comparisons
    comparison: Comparison
    processor: dict[str, Any]
    use: PlannedKernel | None  #: the kernel to trace; None if the trace is generated


def wanted(models: Mapping[str, Model], operators: Sequence[Mapping[str, Any]]) -> Iterator[Wanted]:
    """Yield every comparison of ``models`` whose operator is in the catalog, or that needs no operator."""
    catalog = {str(o["name"]): o for o in operators}
    for name, model in models.items():
        for number, comparison in enumerate(model.comparisons):
            kernel, which = comparison.kernel, f"comparison/{name}/{number}"
            if kernel is not None and kernel.operator not in catalog:
                continue
            use = None if kernel is None else _use(which, kernel, catalog[kernel.operator])
            yield Wanted(which, name, number, comparison, comparison.processor(model), use)


def _use(name: str, kernel: Kernel, entry: Mapping[str, Any]) -> PlannedKernel:
    state = next((e for e in entry["engines"] if e["name"] == kernel.engine), {"available": False, "reason": f"there is no engine {kernel.engine}"})
    full = {str(p["name"]): str(p["default"]) for p in entry["parameters"]} | dict(kernel.params)
    return PlannedKernel(
        name, name, kernel.operator, kernel.engine, dict(kernel.params), kernel.message_bytes, kernel.messages, kernel.footprint, kernel.burst,
        sorted(inputs_of(entry, full)), "" if state["available"] else str(state["reason"]),
    )  # fmt: skip


@contextlib.contextmanager
def simulations(found: Sequence[Wanted], traces: Mapping[str, Trace]) -> Iterator[list[sweep.Simulation]]:
    """Yield the simulations that give our figures, if their kernels have traces. Generated traces exist only within the context.

    Raises:
        EnvironmentFault: there is no room for the generated traces.
    """
    folder = cache_folder()
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            place = stack.enter_context(scratch.folder(folder, ".reads-"))
        except OSError as error:
            raise EnvironmentFault(f"{folder}: cannot be written: {error.strerror}") from None
        yield [s for of in found if (s := _simulation(of, traces, place)) is not None]


def _simulation(of: Wanted, traces: Mapping[str, Trace], folder: Path) -> sweep.Simulation | None:
    if of.comparison.reads is not None:
        made = reads.write(of.comparison.reads.buffer_bytes, folder / str(of.id).replace("/", "-"))
        extent = {"warm_up_messages": made.warm_up_messages, "messages": made.messages}
        return sweep.Simulation(of.id, of.processor, (sweep.Context(made),), extent)
    if of.use is None or of.use.id not in traces:
        return None
    return sweep.Simulation(of.id, of.processor, (sweep.Context(traces[of.use.id]),), {"warm_up_messages": of.comparison.warm_up_messages})


def told(of: Wanted, result: Mapping[str, Any]) -> list[str]:
    """Return our figure and its error in words, for the record of a run. @raises ValueError when the result has nothing to divide by"""
    ours = compare(of.comparison, of.processor, result)
    kind = "" if of.comparison.independent else "; not independent: the model takes a value from it"
    error = (
        "in bounds" if of.comparison.at_most and ours.error_percent == 0 else (f"{percent:+d} %" if (percent := round(ours.error_percent)) else "0 %")
    )
    return [f"{ours.modelled:.3g} {of.comparison.unit}", error + kind]
