"""How much of a trace is simulated in time, and counted."""

from __future__ import annotations

from typing import Any, Final

from dpubench.studies.modelled.plan import SimulatedPlan

#: Where there are fewer samples than these a trace is not sampled: too few for an interval.
LEAST_SAMPLES: Final = 10


def part_of(bursts: int, plan: SimulatedPlan) -> dict[str, Any]:
    """The extent, as docs/cores.md has it, of ``bursts`` of a trace: all of them where the plan is exact, else its sample."""
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
