"""The extent of a simulation: the part of a trace that each context executes.

Contexts that run one kernel share its messages: each begins where the one before ends, so that no two process the same messages. With several
contexts a trace that ends begins again until all are done, so that no context runs its last message alone on the chip. A message of the simulator is
a burst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpubench.simulation.kernels import Trace
from dpubench.studies.cores.expand import Cell
from dpubench.studies.cores.plan import Plan
from dpubench.studies.modelled.extents import part_of
from dpubench.studies.modelled.planned import PlannedKernel


def contexts_of(cell: Cell, uses: Mapping[str, PlannedKernel]) -> list[tuple[str, int]]:
    """Return (use, bursts to skip) for every context, those of core 0 first."""
    number = cell.cores * cell.contexts
    running = [cell.uses[i % len(cell.uses)] for i in range(number)]
    turns: dict[str, int] = {}
    found = []
    for use in running:
        bursts, sharing = uses[use].bursts, running.count(use)
        turn = turns.get(use, 0)
        found.append((use, turn * (bursts // sharing) % bursts))
        turns[use] = turn + 1
    return found


def extent_of(cell: Cell, uses: Mapping[str, PlannedKernel], plan: Plan) -> dict[str, Any]:
    """Return the extent of each context, in the form of docs/cores.md."""
    number = cell.cores * cell.contexts
    repeat = {"repeat": number > 1}
    if len(cell.uses) > 1:
        # Bursts of different kernels take different times. So each context ends after the same number of instructions.
        return {"instructions": plan.mix_instructions, "repeat": True}
    return part_of(max(uses[cell.uses[0]].bursts // number, 1), plan) | repeat


def frame_buffers_of(cell: Cell, traces: Mapping[str, Trace]) -> tuple[Mapping[str, int], ...]:
    """Return the buffers into which a DMA agent writes frames: those of the messages, for each kernel in its address space.

    Return an empty tuple without an agent, or if a frame does not fit between the beginnings of two messages. The agent then uses its own ring.
    """
    if "dma" not in cell.processor:
        return ()
    frame_bytes = int(cell.processor["dma"]["frame_bytes"])
    rings = [traces[use].about.get("input_ring") for use in dict.fromkeys(cell.uses)]
    if any(ring is None or ring["stride_bytes"] < frame_bytes for ring in rings):
        return ()
    # The simulator numbers address spaces in the order in which contexts name traces.
    return tuple({**ring, "data_space": space} for space, ring in enumerate(rings) if ring is not None)
