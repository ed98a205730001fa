"""The trends that DPU-Bench's authors published, each set beside the model of a described cluster (Michalowicz et al., PEARC 2023).

A trend is judged by the time of pure communication, at every message size and assignment of a run, for the staged path. Where the model loses rates
by contention, which is assumed, each trend is judged without it too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from dpubench.plans.quantities import format_bytes
from dpubench.studies.offload.cluster import Cluster
from dpubench.studies.offload.prediction import Predicted, predicted

Verdict = Literal["agrees", "differs", "not shown"]

#: Numbers of workers whose times differ by no more than this are equally good.
EQUAL: Final = 0.02
#: A single worker costs gather its staging if it takes this much longer than the hosts themselves.
STAGING: Final = 0.10
#: An efficiency below this share is poor.
POOR: Final = 0.5


@dataclass(frozen=True)
class Trend:
    """A published trend and what the model says."""

    claim: str
    criterion: str
    verdict: Verdict
    reason: str
    without_contention: Verdict  #: the verdict of the model without its assumed contention

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Setting:
    """One pattern at one size and assignment, over all numbers of workers of a run."""

    pattern: str
    bytes: int
    assignment: str
    nodes: int
    times: Mapping[int, Predicted]  #: workers ->

    @property
    def where(self) -> str:
        return format_bytes(self.bytes)

    def us(self, workers: int) -> float:
        return self.times[workers].communication_s * 1e6

    def best(self) -> int:
        """Return the number of workers whose time is the shortest."""
        return min(self.times, key=self.us)


_Judge = Callable[[_Setting], tuple[bool, str]]


def _one_per_node(s: _Setting) -> tuple[bool, str]:
    best, own = s.best(), s.us(s.nodes)
    if s.us(best) >= own / (1 + EQUAL):
        return True, f"{s.nodes} workers need {own:.0f} us at {s.where}, no other number is faster by more than {EQUAL:.0%}{_limit(s, s.nodes)}"
    text = f"{best} workers need {s.us(best):.0f} us at {s.where}, {s.nodes} need {own:.0f} us ({100 * (own / s.us(best) - 1):+.0f} %)"
    return False, f"{text}{_limit(s, best)}{_limit(s, s.nodes)}"


def _staging(s: _Setting) -> tuple[bool, str]:
    reference, own = s.times[1].reference_s * 1e6, s.us(1)
    more = own / reference - 1
    text = f"one worker needs {own:.0f} us at {s.where}, the hosts themselves {reference:.0f} us ({100 * more:+.0f} %){_limit(s, 1)}"
    return more >= STAGING, text


def _poor(s: _Setting) -> tuple[bool, str]:
    share = s.times[1].reference_s / max(s.times[1].communication_s, s.times[1].compute_s)
    return share < POOR, f"one worker reaches {100 * share:.0f} % at {s.where}{_limit(s, 1)}"


def _gains(s: _Setting) -> tuple[bool, str]:
    counts = [workers for workers in sorted(s.times) if workers <= s.nodes]
    falls = all(s.us(b) <= s.us(a) for a, b in itertools.pairwise(counts))
    return falls and len(counts) > 1, f"{_course(s, counts)} at {s.where}"


def _declines(s: _Setting) -> tuple[bool, str]:
    counts = [workers for workers in sorted(s.times) if workers >= s.nodes]
    rises = all(s.us(b) > (1 + EQUAL) * s.us(a) for a, b in itertools.pairwise(counts))
    return rises and len(counts) > 1, f"{_course(s, counts)} at {s.where}{_limit(s, counts[-1])}"


#: (claim, pattern, criterion, judge, numbers of workers that it needs, by those of nodes)
CLAIMS: Final[Sequence[tuple[str, str, str, _Judge, Callable[[int], Sequence[int]]]]] = (
    ("broadcast: one worker per node is best", "broadcast", f"no other number of workers is faster by more than {EQUAL:.0%}",
     _one_per_node, lambda nodes: (1, nodes)),
    ("gather: one worker per node is best", "gather", f"no other number of workers is faster by more than {EQUAL:.0%}",
     _one_per_node, lambda nodes: (1, nodes)),
    ("gather: a single worker costs its staging", "gather", f"one worker needs at least {STAGING:.0%} more than the hosts themselves",
     _staging, lambda nodes: (1,)),
    ("allgather with one root is poor", "allgather", f"with one worker, reference / max(communication, compute) is below {POOR:.0%}",
     _poor, lambda nodes: (1,)),
    ("allgather with one root gains with workers up to one per node", "allgather", "no further worker up to one per node makes it slower",
     _gains, lambda nodes: (1, nodes)),
    ("allgather with one root declines beyond one worker per node", "allgather",
     f"each further number of workers needs more than {EQUAL:.0%} longer", _declines, lambda nodes: (nodes,)),
)  # fmt: skip


def judged(cluster: Cluster, points: Iterable[Mapping[str, str]]) -> list[Trend]:
    """Return every published trend beside the model of ``cluster``; ``points`` are the parameters of a run's points."""
    chosen = [p for p in points if p["path"] == "staged" and p["work"] == "cache" and float(p.get("ratio", 1)) == 1]
    found = []
    for claim, pattern, criterion, judge, needs in CLAIMS:
        own = [p for p in chosen if p["test"] == pattern]
        wanted = [workers for workers in dict.fromkeys(needs(cluster.nodes)) if str(workers) not in {p["workers"] for p in own}]
        beyond = judge is _declines and not any(int(p["workers"]) > cluster.nodes for p in own)
        if wanted or beyond or not own:
            lacking = "staged " + pattern if not own else f"{' and '.join(map(str, wanted))} workers" if wanted else "more workers than nodes"
            found.append(Trend(claim, criterion, "not shown", f"the run has no point with {lacking}", "not shown"))
            continue
        verdict, reason = _over(cluster, own, judge)
        found.append(Trend(claim, criterion, verdict, reason, _over(cluster.without_contention(), own, judge)[0]))
    return found


def _over(cluster: Cluster, points: Sequence[Mapping[str, str]], judge: _Judge) -> tuple[Verdict, str]:
    """Return the verdict over all sizes and assignments, with the reason at the largest size, or at the first that differs."""
    verdicts = [judge(setting) for setting in _settings(cluster, points)]
    against = [reason for agrees, reason in verdicts if not agrees]
    if against:
        some = "" if len(against) == len(verdicts) else f" (at {len(against)} of {len(verdicts)} sizes and assignments)"
        return "differs", against[-1] + some
    return "agrees", verdicts[-1][1]


def _settings(cluster: Cluster, points: Sequence[Mapping[str, str]]) -> list[_Setting]:
    """Return the settings of ``points`` in ascending size. Numbers of workers that do not divide the hosts show imbalance, and are left out."""
    found = []
    counts = sorted({int(p["workers"]) for p in points if cluster.hosts % int(p["workers"]) == 0})
    for size in sorted({int(p["bytes"]) for p in points}):
        for assignment in dict.fromkeys(p["assignment"] for p in points):
            pattern = points[0]["test"]
            times = {workers: predicted(cluster, pattern, "staged", assignment, workers, size) for workers in counts}
            found.append(_Setting(pattern, size, assignment, cluster.nodes, times))
    return found


def _course(s: _Setting, counts: Sequence[int]) -> str:
    return f"{', '.join(map(str, counts))} workers: {', '.join(f'{s.us(workers):.0f}' for workers in counts)} us"


def _limit(s: _Setting, workers: int) -> str:
    """Return in words what limits the stages of pure communication."""
    limits = [limit for limit in s.times[workers].limits if not limit.endswith("nothing moves")]
    return f"; limits of {workers}: {'; '.join(limits)}"
