"""The extent of a simulation: the part of a trace that is simulated in time, and the part that is counted."""

from __future__ import annotations

from typing import Any, Final

from dpubench.studies.modelled.plan import SimulatedPlan

#: A trace that would give fewer samples is not sampled: they are too few for an interval.
LEAST_SAMPLES: Final = 10


def part_of(bursts: int, plan: SimulatedPlan) -> dict[str, Any]:
    """Return the extent, in the form of docs/cores.md, of a trace of ``bursts``: all of them if the plan is exact, else the plan's sample."""
    share, every, measured = bursts, 1, 1
    if not plan.exact:
        share = max(int(bursts * plan.sample.share), 1)
        every, measured = plan.sample.every, plan.sample.measured
    if share < LEAST_SAMPLES * every:
        every = measured = 1
    simulated = share // every * measured
    warm_up = int(simulated * plan.warm_up)
    sampled = {"every": every, "measured": measured} if every > 1 else {}
    return {"warm_up_messages": warm_up, "messages": simulated - warm_up, **sampled}
