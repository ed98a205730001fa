"""How much of a trace each context of a simulation executes.

Contexts that run one kernel share its messages: each begins where the one before ends, so that no two process the same ones. With several contexts a
trace that ends begins again until all are done, and nobody's last message has the chip to itself. What the simulator calls a message is a burst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpubench.studies.cores.expand import Cell
from dpubench.studies.cores.plan import Plan
from dpubench.studies.cores.use import Use

#: Fewer bursts than these of a context are not sampled: what is measured of them would be a handful.
LEAST_SAMPLED = 16


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
    share = max(uses[cell.uses[0]].bursts // number, 1)
    if plan.exact:
        return {"messages": share, **repeat}
    every, measured = plan.sample.every, plan.sample.measured
    if share // every * measured < LEAST_SAMPLED:
        every = measured = 1
    simulated = share // every * measured
    warm_up = int(simulated * plan.sample.warm_up)
    return {"warm_up_messages": warm_up, "messages": simulated - warm_up, "every": every, "measured": measured, **repeat}
