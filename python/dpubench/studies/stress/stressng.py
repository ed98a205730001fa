"""What stress-ng prints: its results as YAML and as a log, its lists of stressors, and its reasons for skipping one. Versions 0.12 to 0.18.

Some versions list a stressor twice, with one entry zero: its entries are added up. Two kinds of entries are no results. stress-ng writes a rate of
zero for a stressor that it was compiled without, or that could not begin. And a stressor that ended long before its time has done some other thing
than to work for that time: its rate is of the first milliseconds, and its counters may hold what was in memory before (5e18 operations in 0.4 ms).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
#: Largest number of operations or seconds that is read.
MOST: Final = 1e24
#: Share of the time that it was asked to run for which a stressor must have run.
LEAST_SHARE: Final = 0.5
#: Factor on the CPU time that there is, beyond which an account of CPU time is wrong.
_CPU_SLACK: Final = 1.05
#: Factor on the time that a stressor was asked to run, beyond which it ran much longer.
OVERRUN: Final = 1.2


class NotStressNg(ValueError):
    """A text is no result of stress-ng. The message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One stressor's result, of all of its instances together."""

    operations: float  #: "bogo" operations
    wall_s: float
    cpu_s: float  #: user and system time of all instances
    entries: int = 1  #: entries with operations that it was made of

    @property
    def per_s(self) -> float:
        """Return operations per second of wall time; 0 where it did nothing."""
        return self.operations / self.wall_s if self.wall_s > 0 else 0.0

    def worked(self, seconds: float) -> bool:
        """Return whether it did anything, for a good part of the ``seconds`` that it was asked to."""
        return self.operations > 0 and self.wall_s >= LEAST_SHARE * seconds

    def cpu_us(self, cpus: int) -> float:
        """Return CPU time per operation in us; 0 where none was accounted for, or more than ``cpus`` CPUs have (0: unknown)."""
        if self.operations <= 0 or (cpus and self.cpu_s > _CPU_SLACK * cpus * self.wall_s):
            return 0.0
        return 1e6 * self.cpu_s / self.operations

    def why_not(self, seconds: float) -> str:
        """Return why it is no result, although it was asked to run for ``seconds``."""
        return "it did no operation" if self.operations <= 0 else f"it ended after {self.wall_s:.3g} s of {seconds:g} s"


@dataclass(frozen=True, slots=True)
class Output:
    """The results of one process of stress-ng."""

    results: Mapping[str, Result]
    version: str = ""  #: empty if the output does not tell it
    host: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)  #: facts under the names of a run's machine
    started: str = ""  #: ISO 8601; empty if it does not tell
    whole: bool = True  #: whether it has the end that stress-ng writes; a file without one may lack stressors

    @property
    def duration_s(self) -> int:
        """Return the seconds that its stressors were asked to run: the middle of the wall times of those that did something; 0 if none did."""
        times = sorted(result.wall_s for result in self.results.values() if result.operations > 0)
        return max(1, round(times[len(times) // 2])) if times else 0


def warnings_of(result: Result, seconds: float) -> Iterator[dict[str, str]]:
    """Yield code and message of what weakens ``result``, of a stressor that was asked to run for ``seconds``."""
    if result.wall_s > OVERRUN * seconds * result.entries:
        yield {"code": "overrun", "message": f"it ran for {result.wall_s:.1f} s, asked for {seconds:g} s"}
    if result.entries > 1:
        yield {"code": "listed-twice", "message": f"{result.entries} entries with operations"}


# --------------------------------------------------------------------------- YAML


def parse_yaml(text: str) -> Output:
    """Return the results in a file that ``--yaml`` wrote. @raises NotStressNg"""
    try:
        # The base loader makes no numbers: 2021:02:04 would be one of base 60.
        content = yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise NotStressNg(f"is no YAML, or was cut short ({getattr(error, 'problem', None) or error}{where})") from None
    except RecursionError:
        raise NotStressNg("is nested too deeply for a result of stress-ng") from None
    if not isinstance(content, dict) or "metrics" not in content:
        raise NotStressNg("has no 'metrics': run stress-ng with --metrics and --yaml FILE")
    metrics = content["metrics"] or []
    if not isinstance(metrics, list):
        raise NotStressNg("its 'metrics' are no list of stressors: was the file cut short?")
    info = content.get("system-info")
    info = info if isinstance(info, dict) else {}
    results = merged(_entry(entry) for entry in metrics)
    whole = text.rstrip().endswith("\n...")
    return Output(results, _word(info, "stress-ng-version"), _word(info, "hostname"), _machine(info), _started(info), whole)


def _word(info: Mapping[str, Any], key: str) -> str:
    value = info.get(key, "")
    return value.strip() if isinstance(value, str) else ""


def _entry(entry: Any) -> tuple[str, Result]:
    if not isinstance(entry, dict) or not isinstance(entry.get("stressor"), str) or not entry["stressor"]:
        raise NotStressNg("an entry of its 'metrics' names no stressor: was the file cut short?")
    name = entry["stressor"]
    if missing := [key for key in ("bogo-ops", "wall-clock-time") if key not in entry]:
        raise NotStressNg(f"stressor {name} has no {missing[0]}: was the file cut short?")
    operations, wall, user, system = (number(entry.get(key, "0"), name, key) for key in ("bogo-ops", "wall-clock-time", "user-time", "system-time"))
    return name, Result(operations, wall, user + system)


def number(text: Any, name: str, what: str) -> float:
    """Return a figure of stressor ``name``. @raises NotStressNg it is none, negative or out of range"""
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= MOST:
        raise NotStressNg(f"{what} of stressor {name} is '{str(text)[:40]}', which is no figure")
    return value


def merged(entries: Iterable[tuple[str, Result]]) -> dict[str, Result]:
    """Return results by stressor. Entries without operations count only where a stressor has no other."""
    found: dict[str, Result] = {}
    for name, result in entries:
        before = found.get(name)
        if before is None or before.operations == 0:
            found[name] = result
        elif result.operations > 0:
            found[name] = Result(
                before.operations + result.operations, before.wall_s + result.wall_s, before.cpu_s + result.cpu_s, before.entries + 1
            )  # fmt: skip
    return found


def _machine(info: Mapping[str, Any]) -> dict[str, Any]:
    facts = {"architecture": _word(info, "machine"), "kernel": _word(info, "release")}
    return {k: v for k, v in facts.items() if v} | {
        name: int(value)
        for name, key in (("cpus_online", "cpus-online"), ("memory_bytes", "totalram"), ("page_bytes", "pagesize"))
        if (value := _word(info, key)).isascii() and value.isdigit() and len(value) < 17
    }


def _started(info: Mapping[str, Any]) -> str:
    date, time = (next((value for key, value in info.items() if key.startswith(prefix)), "") for prefix in ("date", "time"))
    return timestamp(str(date), str(time))


def timestamp(date: str, time: str = "") -> str:
    """Return date (2021:02:04) and time of stress-ng as ISO 8601; empty if the date is none."""
    if re.fullmatch(r"\d{4}:\d{2}:\d{2}", date) is None:
        return ""
    clock = time if re.fullmatch(r"\d{2}:\d{2}:\d{2}", time) else "00:00:00"
    return f"{date.replace(':', '-')}T{clock}Z"


# --------------------------------------------------------------------------- logs

#: A line of a log: ``stress-ng: info:  [4532] TEXT``, perhaps with a time before the level (--timestamp).
_LINE: Final = re.compile(r"stress-ng:\s+(?:\S+\s+)?(\w+):\s+\[\d+\]\s?(.*)")
#: A row of metrics: stressor, operations, real, user and system time, rates, perhaps more columns.
_ROW: Final = re.compile(r"([a-z0-9][a-z0-9_-]*)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+\d+\.\d+\s+\d+\.\d+(?:\s.*)?")
_VERSION: Final = re.compile(r"stress-ng,? version ([0-9][0-9a-zA-Z.]*)|stress-ng ([0-9]+\.[0-9]+\.[0-9]+)")


def messages(text: str) -> list[tuple[str, str]]:
    """Return (level, message) of every line of stress-ng in a log."""
    return [(found[1], found[2].strip()) for line in text.splitlines() if (found := _LINE.match(line.strip())) is not None]


def parse_log(text: str) -> Output:
    """Return the results in the log of a process with ``--metrics``. Its rates have two decimals: a YAML file is better. @raises NotStressNg"""
    told = messages(text)
    if not told:
        raise NotStressNg("has no line of stress-ng")
    rows = [found for _, message in told if (found := _ROW.fullmatch(message)) is not None]
    if not rows:
        raise NotStressNg("has no metrics: run stress-ng with --metrics, and keep the log's end")
    results = merged((dashed(r[1]), Result(float(r[2]), float(r[3]), float(r[4]) + float(r[5]))) for r in rows)
    version = next((found[1] or found[2] for _, message in told if (found := _VERSION.search(message)) is not None), "")
    online = next((found[1] for _, message in told if (found := re.match(r"(\d+) processors online", message)) is not None), "")
    return Output(results, version, "", {"cpus_online": int(online)} if online and len(online) < 7 else {})


def dashed(name: str) -> str:
    """Return a stressor's name as its option has it: some messages write ``cpu_online``."""
    return name.replace("_", "-")


# --------------------------------------------------------------------------- lists


def parse_version(text: str) -> str:
    """Return the version in the output of ``--version``; empty if there is none."""
    found = _VERSION.search(text)
    return (found[1] or found[2]) if found is not None else ""


def parse_names(text: str) -> list[str]:
    """Return the stressors in the output of ``--stressors``."""
    return [word for word in text.split() if re.fullmatch(r"[a-z0-9][a-z0-9-]*", word)]


def parse_class_names(text: str) -> list[str]:
    """Return the classes that the message about an unknown class lists."""
    return text.partition("available classes:")[2].split()


def parse_class(text: str) -> list[str]:
    """Return the stressors in the output of ``--class NAME?``."""
    return parse_names(text.partition("stressors:")[2])


def parse_refusals(text: str, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return why stressors are skipped, by name, and those that are pathological, from the messages of a dry run of all."""
    known, reasons, pathological = set(names), dict[str, str](), []
    for _, message in messages(text):
        if (found := re.match(r"disabled '([^']+)' as it may hang", message)) is not None:
            pathological.append(found[1])
        elif "skip" in message and "not skipping" not in message:
            name, _, rest = message.partition(" ")
            name = dashed(name.rstrip(":"))
            if name in known:
                reasons[name] = reason_of(rest)
    return reasons, pathological


_SKIPPED: Final = re.compile(
    r"^(?:\S+ )?(?:flood )?stressor will be skipped,? ?|,? ?(?:skipping|skip) (?:the |this )?stressor.*$|^stressor "
)  # fmt: skip


def reason_of(message: str) -> str:
    """Return why stress-ng skips a stressor, without the words that say that it does."""
    return _SKIPPED.sub("", message.strip()).strip() or "stress-ng skips it"
