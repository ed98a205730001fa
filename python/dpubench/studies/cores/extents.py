"""How much of a trace each context of a simulation executes.

Contexts that run one kernel share its messages: each begins where the one before ends, so that no two process the same ones. With several contexts a
trace that ends begins again until all are done, and nobody's last message has the chip to itself. What the simulator calls a message is a burst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpubench.cores.kernels import Trace
from dpubench.studies.cores.expand import Cell
from dpubench.studies.cores.plan import Plan
from dpubench.studies.modelled.extents import part_of
from dpubench.studies.modelled.use import Use


def contexts_of(cell: Cell, uses: Mapping[str, Use]) -> list[tuple[str, int]]:
    """(use, bursts that are passed over) of every context, those of core 0 first."""
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


def extent_of(cell: Cell, uses: Mapping[str, Use], plan: Plan) -> dict[str, Any]:
    """What is simulated of each context, as docs/cores.md has it."""
    number = cell.cores * cell.contexts
    repeat = {"repeat": number > 1}
    if len(cell.uses) > 1:
        # Bursts of different kernels take differently long: contexts are done after as many instructions.
        return {"instructions": plan.mix_instructions, "repeat": True}
    return part_of(max(uses[cell.uses[0]].bursts // number, 1), plan) | repeat


def frame_buffers_of(cell: Cell, traces: Mapping[str, Trace]) -> tuple[Mapping[str, int], ...]:
    """Where the frames of a DMA agent arrive: in the messages' own buffers, of each kernel in its address space.

    None where there is no agent, or where a frame has no room between the beginnings of two messages: the agent has a ring of its own then.
    """
    if "dma" not in cell.processor:
        return ()
    frame_bytes = int(cell.processor["dma"]["frame_bytes"])
    rings = [traces[use].about.get("input_ring") for use in dict.fromkeys(cell.uses)]
    if any(ring is None or ring["stride_bytes"] < frame_bytes for ring in rings):
        return ()
    # Spaces are numbered in the order in which contexts name traces.
    return tuple({**ring, "data_space": space} for space, ring in enumerate(rings) if ring is not None)
