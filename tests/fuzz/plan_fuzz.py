#!/usr/bin/env python3
"""Parses any text as a plan. The answer must be a plan or a PlanError, and come soon."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import guided

#: A file that disappears with the process, because libFuzzer's loop ends without any cleanup.
SCRATCH = Path(f"/proc/self/fd/{os.memfd_create('plan.yaml')}")


def parse(data: bytes) -> None:
    """Read one input: as a plan in a file, as the same values given as options, and as quantities."""
    from dpubench.errors import PlanError, UserError
    from dpubench.plans import load, yaml_lines
    from dpubench.plans import quantities as q

    text = data.decode("utf-8", "replace")
    try:
        plan, _ = load.parse_plan(text, "plan.yaml")
    except PlanError as error:
        if not str(error):
            raise AssertionError("an error without words") from error
    else:
        # Write an accepted plan and read it back. The result must be the same plan, because a run repeats its `plan.yaml`.
        again, _ = load.parse_plan(load.plan_text(plan), "again")
        where = load.Where("plan.yaml", options={"operators": "--operator"})
        if load.plan_from_words(plan.words(), where) != plan or not where.problem("unknown", "operators", 0).field.startswith("--"):
            raise AssertionError("values of options are read otherwise than those of files")
        if again != plan:
            raise AssertionError(f"{plan} came back as {again}")
    if data[:1] >= b"\x80":  # only a file can bring bytes that are no UTF-8 to the parser
        try:
            SCRATCH.write_bytes(data)
            load.read_plan(SCRATCH if data[:1] != b"\xff" else SCRATCH.parent)
        except UserError:
            pass
    try:
        words, lines = yaml_lines.parse(text, "plan.yaml")
        load.plan_from_words(words, load.Where("plan.yaml", lines, {"sizes": "--size"}))
    except PlanError:
        pass
    for word in text.split()[:6]:
        for unit in (q.size_bytes, q.duration_s, q.rate_bps, q.rate_pps, q.fraction, lambda w: q.count(w, "threads", 16)):
            try:
                value = unit(word[:40])
            except ValueError:
                continue
            q.spoken(float(value))
            if unit is q.size_bytes and q.size_bytes(q.format_bytes(int(value))) != value:
                raise AssertionError(f"{word} is written as {q.format_bytes(int(value))}")


def imports() -> None:
    from dpubench.plans import load, quantities  # noqa: F401


def seeds() -> Iterator[tuple[str, bytes]]:
    """Return the built-in plans."""
    return guided.files(sorted(guided.PACKAGE.glob("dpubench/studies/*/*.yaml")))


def dictionary() -> list[str]:
    """Return keys, words and units of plans, so that the fuzzer need not guess them letter by letter."""
    from dpubench.plans.model import Rounds
    from dpubench.studies.operators.plan import Cycles, Exclude, Plan, Window

    keys = {f"{name}:" for part in (Plan, Rounds, Cycles, Window, Exclude) for name in part.model_fields}
    values = {
        "operators",
        "all",
        "default",
        "grid",
        "best-and-reference",
        "stream",
        "resident",
        "1500B",
        "64KiB",
        "3min",
        "5%",
        "200ms",
        "25Gb/s",
        "2Mpps",
    }
    return sorted(
        keys
        | values
        | {
            "{",
            "}",
            "[",
            "]",
            "- ",
            "&a ",
            "*a",
            "!!int ",
            "<<",
            "1",
            "0",
            "-1",
            "!!python/name:x",
            "!!set",
            "2026-11-21",
            "? ",
            "!!float",
            "90s",
            "2h",
            "1us",
            "params: {mode: gcm}",
            "rounds: {min: 9, max: 3}",
        }
    )


FUZZER = guided.Fuzzer(
    "plan", parse, imports, watched=("dpubench", "yaml"), covered=("dpubench.plans",), least_percent=90.0, seeds=seeds, dictionary=dictionary
)

if __name__ == "__main__":
    sys.exit(guided.main(FUZZER, __file__))
