"""Results of stress-ng that were measured elsewhere: its YAML files, its logs, and tidy tables with one row per stressor and repetition.

Tables are CSV files with the columns ``platform, run_seconds, repetition, stressor, bogo_ops, real_time, usr_time, sys_time`` (times in seconds). A
second table, with ``platform, run_seconds, repetition, stress_ng_version`` and facts about the machine, tells the versions. Each file of YAML or log
is one repetition.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dpubench.errors import UserError
from dpubench.plans.quantities import format_duration
from dpubench.run.importing import File, Imported, Member
from dpubench.storage.runs import Event, now_utc
from dpubench.studies.measured import rounds
from dpubench.studies.stress import classes, stressng
from dpubench.studies.stress.model import CPU_TIME, QUANTITIES, RATE
from dpubench.studies.stress.plan import Plan
from dpubench.studies.stress.points import described, point
from dpubench.studies.stress.stressng import NotStressNg, Output, Result, warnings_of

_KEY: Final = ("platform", "run_seconds", "repetition")
_RESULTS: Final = (*_KEY, "stressor", "bogo_ops", "real_time", "usr_time", "sys_time")
_ABOUT: Final = (*_KEY, "stress_ng_version")


@dataclass(slots=True)
class _Repetition:
    """The results of all stressors, run once for a given time each."""

    platform: str
    seconds: int
    output: Output
    files: list[Path] = field(default_factory=list)


def imported(files: Sequence[File]) -> Imported:
    """Return what ``files`` hold, one member for each platform. @raises UserError a file is no result of stress-ng, or they hold no stressor"""
    texts = [(file, file.text()) for file in files]
    tables = [(file, text) for file, text in texts if _is_table(text)]
    found = list(_tables(tables)) + [_single(file, text) for file, text in texts if not _is_table(text)]
    found = [repetition for repetition in found if any(r.worked(repetition.seconds) for r in repetition.output.results.values())]
    if not found:
        raise UserError(f"{files[0].path}: holds no stressor with operations: nothing can be imported")
    platforms: dict[str, list[_Repetition]] = defaultdict(list)
    for repetition in found:
        platforms[repetition.platform].append(repetition)
    durations = sorted({repetition.seconds for repetition in found})
    stressors = sorted({name for repetition in found for name in repetition.output.results})
    words = {"study": "stress", "plan": "imported", "summary": "measured elsewhere", "stressors": stressors, "target": list(platforms)}
    plan = Plan.model_validate(words | {"duration": [format_duration(seconds) for seconds in durations]})
    notes = [f"{len(found)} repetitions of {len(stressors)} stressors; stressors that did nothing, or ended before half of their time, have no rate"]
    notes += [f"{r.files[0]}: has no end, so that it may lack stressors: was it cut short?" for r in found if not r.output.whole]
    return Imported(plan, [_member(name, of) for name, of in platforms.items()], notes)


def _member(platform: str, found: Sequence[_Repetition]) -> Member:
    versions = list(dict.fromkeys(repetition.output.version for repetition in found))
    if len(versions) > 1:
        raise UserError(
            f"{platform}: its repetitions are of stress-ng {' and '.join(v or 'of unknown version' for v in versions)}, and one figure cannot be of "
            f"both: give them different names (NAME=FILE)"
        )
    by_time: dict[int, list[_Repetition]] = defaultdict(list)
    for repetition in found:
        by_time[repetition.seconds].append(repetition)
    # A round holds the repetition with its number at every duration.
    events = [
        [event for seconds in sorted(by_time) if number < len(by_time[seconds]) for event in _events(number, by_time[seconds][number])]
        for number in range(max(map(len, by_time.values())))
    ]
    worked = {(name, r.seconds) for r in found for name, result in r.output.results.items() if result.worked(r.seconds)}
    why = {(name, r.seconds): result.why_not(r.seconds) for r in found for name, result in r.output.results.items()}
    names = sorted({name for repetition in found for name in repetition.output.results})
    points = [
        point(name, seconds, "" if (name, seconds) in worked else why.get((name, seconds), "it is in no repetition"))
        for seconds in sorted(by_time) for name in names
    ]  # fmt: skip
    of = {name: classes.of(name) for name in names}
    machine = next((dict(r.output.machine) for r in found if r.output.machine), {})
    record = {
        "points": [p.record() for p in points], "quantities": [q.record() for q in QUANTITIES],
        "rounds": [
            {"number": n, "started": found[0].output.started, "elapsed_s": _elapsed(by_time, n), "whole": True} for n in range(len(events))
        ],
        "stress_ng": described(versions[0], int(machine.get("cpus_online", 0)), of),
        "started": next((r.output.started for r in found if r.output.started), "") or now_utc(), "warnings": _warnings(found, versions[0]),
    }  # fmt: skip
    files = list(dict.fromkeys(path for repetition in found for path in repetition.files))
    return Member(platform, machine, record, events, files)


def _elapsed(by_time: Mapping[int, Sequence[_Repetition]], number: int) -> float:
    return round(sum(r.wall_s for of in by_time.values() if number < len(of) for r in of[number].output.results.values()), 3)


def _events(number: int, repetition: _Repetition) -> Iterator[Event]:
    for name, result in repetition.output.results.items():
        if result.worked(repetition.seconds):
            where = point(name, repetition.seconds).id
            yield rounds.kept(number, where, RATE, result.per_s)
            if cpu_us := result.cpu_us(int(repetition.output.machine.get("cpus_online", 0))):
                yield rounds.kept(number, where, CPU_TIME, cpu_us)


def _warnings(found: Sequence[_Repetition], version: str) -> list[dict[str, str]]:
    warnings: dict[tuple[str, str], dict[str, str]] = {}
    for repetition in found:
        for name, result in repetition.output.results.items():
            where = point(name, repetition.seconds).id
            if not result.worked(repetition.seconds):
                continue
            for warning in warnings_of(result, repetition.seconds):
                warnings.setdefault((warning["code"], where), warning | {"point": where})
    told = list(warnings.values())
    if version != classes.version():
        told.append({"code": "other-classes", "message": f"classes of stress-ng {classes.version()}, results of {version or 'an unknown version'}"})
    return told


# --------------------------------------------------------------------------- YAML and logs


def _single(file: File, text: str) -> _Repetition:
    try:
        output = stressng.parse_log(text) if stressng.messages(text[:100_000]) else stressng.parse_yaml(text)
    except NotStressNg as error:
        raise UserError(f"{file.path}: {error}") from None
    if not output.duration_s:
        raise UserError(f"{file.path}: holds no stressor with operations: leave it out")
    platform = file.platform or output.host or file.path.resolve().parent.name
    return _Repetition(platform, output.duration_s, output, [file.path])


# --------------------------------------------------------------------------- tables


def _is_table(text: str) -> bool:
    head = text.partition("\n")[0].strip().split(",")
    return all(name in head for name in _KEY)


def _tables(tables: Sequence[tuple[File, str]]) -> Iterator[_Repetition]:
    """Yield the repetitions in the tables of results, in order, with what the tables about runs tell of them. @raises UserError"""
    about: dict[tuple[str, int, int], Output] = {}
    told: dict[tuple[str, int, int], Path] = {}
    entries: dict[tuple[str, int, int], list[tuple[str, Result]]] = defaultdict(list)
    sources: dict[tuple[str, int, int], Path] = {}
    for file, text in tables:
        rows = list(csv.DictReader(io.StringIO(text)))
        columns = set(rows[0]) if rows else set()
        is_result = "stressor" in columns
        if missing := [name for name in (_RESULTS if is_result else _ABOUT) if name not in columns]:
            raise UserError(f"{file.path}: has no column '{missing[0]}': a table of results has {', '.join(_RESULTS)}")
        for line, row in enumerate(rows, 2):
            try:
                key = _key(row, file)
                if is_result:
                    entries[key].append(_result(row))
                    sources[key] = file.path
                else:
                    about[key], told[key] = _about(row), file.path
            except NotStressNg as error:
                raise UserError(f"{file.path}:{line}: {error}") from None
    for key in sorted(entries):
        known = about.get(key, Output({}))
        files = [sources[key], *([told[key]] if key in told else [])]
        yield _Repetition(key[0], key[1], replace(known, results=stressng.merged(entries[key])), files)


def _key(row: Mapping[str, str | None], file: File) -> tuple[str, int, int]:
    platform = file.platform or (row["platform"] or "").strip()
    seconds, repetition = (_whole(row[name]) for name in ("run_seconds", "repetition"))
    if not platform or not seconds or not repetition:
        raise NotStressNg("needs a platform, and run_seconds and repetition as whole numbers from 1")
    return platform, seconds, repetition


def _whole(text: str | None) -> int:
    """Return a whole number of at most eight digits; 0 if ``text`` is none."""
    word = (text or "").strip()
    return int(word) if re.fullmatch("[0-9]{1,8}", word) else 0


def _result(row: Mapping[str, str | None]) -> tuple[str, Result]:
    name = (row["stressor"] or "").strip()
    if not name:
        raise NotStressNg("names no stressor")
    operations, wall, user, system = (stressng.number(row[key], name, key) for key in ("bogo_ops", "real_time", "usr_time", "sys_time"))
    return name, Result(operations, wall, user + system)


def _about(row: Mapping[str, str | None]) -> Output:
    def text(key: str) -> str:
        return (row.get(key) or "").strip()

    machine: dict[str, Any] = {k: v for k, v in (("architecture", text("machine")), ("kernel", text("kernel"))) if v}
    for name, key in (("cpus_online", "cpus"), ("memory_bytes", "totalram"), ("page_bytes", "pagesize")):
        if text(key).isascii() and text(key).isdigit() and len(text(key)) < 17:
            machine[name] = int(text(key))
    return Output({}, text("stress_ng_version"), "", machine, stressng.timestamp(text("date")))
