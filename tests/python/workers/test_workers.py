"""Tests of workers: the fast check of window events against the schema, valid schemas, blame in the contract's order, last words."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from dpubench import schemas
from dpubench.targets.local import LocalTarget
from dpubench.workers.blame import Blame
from dpubench.workers.checks import Rubbish, parse_event
from dpubench.workers.process import Worker, WorkerFault
from jsonschema import Draft202012Validator

WINDOW: dict[str, Any] = {
    "event": "window", "point": "p", "group": "g", "round": 0, "cycle": 1, "half": 0, "operations": 10, "elapsed_ns": 3e6,
    "in_bytes": 1, "out_bytes": 1, "rate_bytes": 1, "bursts": 3, "ghz": 2.5, "core_cycles": 7, "energy_uj": 1.5, "metrics": {"ratio": 2.0},
}  # fmt: skip
BAD: tuple[Any, ...] = (None, -1, 0, 1, 1.5, True, "", "x", [], {}, {"a": "b"}, {"a": 1})


@pytest.mark.parametrize("name", ["job", "event", "run", "run-set", "target"])
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schemas.schema(name))


def accepted(event: dict[str, Any]) -> bool:
    try:
        parse_event(json.dumps(event).encode())
    except Rubbish:
        return False
    return True


def test_the_fast_check_of_windows_agrees_with_the_schema() -> None:
    assert accepted(WINDOW)
    cases = [{k: v for k, v in WINDOW.items() if k != gone} for gone in WINDOW if gone != "event"]
    cases += [WINDOW | {key: value} for key in WINDOW if key != "event" for value in BAD] + [WINDOW | {"more": 1}]
    for case in cases:
        # JSON Schema counts 1.0 as an integer; the fast check is stricter there, and only there.
        strict = any(isinstance(v, float) and v.is_integer() for k, v in case.items() if k not in ("elapsed_ns", "ghz", "energy_uj"))
        if not strict:
            assert accepted(case) == (not schemas.fault("event", case, "window")), case


@pytest.mark.parametrize(
    ("part", "instead", "words"),
    [
        (b'"operations": 10', b'"operations": 9223372036854775808', "because 9223372036854775808 is out of range"),
        (b'"operations": 10', b'"operations": 9007199254740993', "operations is not a count"),
        (b'"operations": 10', b'"operations": ' + b"9" * 5000, "is out of range"),
        (b'"elapsed_ns": 3000000.0', b'"elapsed_ns": 1e999', "because 1e999 is out of range"),
        (b'"elapsed_ns": 3000000.0', b'"elapsed_ns": 1e-300', "elapsed_ns is not a time"),
        (b'"elapsed_ns": 3000000.0', b'"elapsed_ns": -Infinity', "because -Infinity is not JSON"),
        (b'"ratio": 2.0', b'"ratio": 1e308', "metrics are not numbers"),
        (b'"ratio": 2.0', b'"ratio": ' + b"[" * 100_000, "because it is nested too deeply"),
        (b'"point": "p"', b'"point": "\\ud800"', "because it holds a text that is not UTF-8"),
        (b'"point": "p"', b'"point": "\xed\xa0\x80"', "because it holds a text that is not UTF-8"),
        (b'"point": "p"', b'"point": "\xff"', "because it holds a text that is not UTF-8"),
        (b'"ratio"', b'"\\uDFFF"', "because it holds a text that is not UTF-8"),
    ],
)
def test_what_cannot_be_kept_is_no_event(part: bytes, instead: bytes, words: str) -> None:
    line = json.dumps(WINDOW).encode()
    assert part in line
    with pytest.raises(Rubbish) as told:
        parse_event(line.replace(part, instead))
    assert words in str(told.value) and len(str(told.value)) < 300


def test_long_messages_are_cut() -> None:
    told = parse_event(json.dumps({"event": "failure", "phase": "measure", "message": "x" * 100_000, "point": "p"}).encode())
    assert told["message"] == "x" * 4056 + " ... (95944 more characters)"


@pytest.mark.parametrize(
    ("events", "suspects"),
    [
        ([], []),
        ([{"event": "progress", "group": "g"}], ["a"]),
        ([{"event": "prepared", "group": "g", "point": "a"}], ["a"]),
        ([{"event": "prepared", "group": "g", "point": "a"}, {"event": "verified", "group": "g", "point": "a"}], ["b"]),
        ([{"event": "failure", "group": "g", "point": "a"}], ["b"]),
        ([{"event": e, "group": "g", "point": p} for p in "ab" for e in ("prepared", "verified")], ["a", "b"]),
        (
            [{"event": e, "group": "g", "point": p} for p in "ab" for e in ("prepared", "verified")]
            + [{"event": "window", "group": "g", "point": "a"}],
            ["b"],
        ),
        (
            [{"event": e, "group": "g", "point": p} for p in "ab" for e in ("prepared", "verified")]
            + [{"event": "window", "group": "g", "point": p} for p in "abba"],
            ["c"],  # g is done: the worker died on the way into h
        ),
    ],
)
def test_blame(events: list[dict[str, Any]], suspects: list[str]) -> None:
    blame = Blame({"g": ["a", "b"], "h": ["c"]}, cycles=1)
    for event in events:
        blame.see(event)
    assert blame.suspects() == suspects


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("(sleep 0.5; echo late >&2) >&- & exec >&-; exit 3", "; it said: late$"),  # the text comes after the end, as from another machine
        ("sleep 60 >&- & exec >&-; exit 3", "with status 3$"),  # a process left behind holds standard error open
        ("echo here >&2; kill -9 $$", "killed by SIGKILL; it said: here$"),
    ],
)
def test_what_a_program_said_last_is_waited_for_but_not_long(script: str, said: str) -> None:
    began = time.monotonic()
    with Worker(LocalTarget(), "/bin/sh", ["-c", script], silence_s=20.0, limit_s=60.0) as worker, pytest.raises(WorkerFault, match=said):
        worker.next_event()
    assert time.monotonic() - began < 20.0
