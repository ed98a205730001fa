"""``scripts/mutate.py``: its lists fit the tree, a survivor needs a reason, and the share that is noticed decides."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import mutate

FAULT = mutate.Fault("a.py", "x < 1", "x <= 1", "", ("t.py",))
NOTICED: Final[mutate.Outcome] = "noticed"
SURVIVED: Final[mutate.Outcome] = "survived"
OTHER = mutate.Fault("a.py", "y < 1", "y <= 1", "", ("t.py",))


def lists(folder: Path, **entries: object) -> Path:
    """Write lists into ``folder``, and the file that they are about."""
    (folder / "a.py").write_text("def f(x):\n    return x < 1\n", encoding="utf-8")
    for name, content in entries.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder


def test_the_lists_fit_the_tree() -> None:
    assert mutate.reasons() and mutate.edits()
    listed = mutate.read_list("python.yaml")
    for module in listed["modules"]:
        assert (ROOT / module["path"]).is_file() and all((ROOT / test).is_file() for test in module["tests"]), module["path"]


def test_a_survivor_needs_a_reason(tmp_path: Path) -> None:
    entry = {"path": "a.py", "old": "return x < 1", "new": "return x <= 1"}
    for reason in ({}, {"reason": ""}, {"reason": "  "}):
        with pytest.raises(mutate.WrongList, match="has no reason: say why no test can"):
            mutate.reasons(lists(tmp_path, survivors=[entry | reason]), tmp_path)
    known = mutate.reasons(lists(tmp_path, survivors=[entry | {"reason": "x is whole"}]), tmp_path)
    assert known == {("a.py", "return x < 1", "return x <= 1"): "x is whole"}
    with pytest.raises(mutate.WrongList, match="is no longer in the file"):
        mutate.reasons(lists(tmp_path, survivors=[entry | {"old": "return x > 1", "reason": "x is whole"}]), tmp_path)


@pytest.mark.parametrize(("old", "times"), [("x < 2", 0), ("x", 2)])
def test_an_edit_has_one_place(tmp_path: Path, old: str, times: int) -> None:
    entry = {"path": "a.py", "old": old, "new": "y", "build": ["t"], "test": "t"}
    with pytest.raises(mutate.WrongList, match=f"is there {times} times: it must be there once"):
        mutate.edits(lists(tmp_path, native=[entry]), tmp_path)
    (fault,) = mutate.edits(lists(tmp_path, native=[entry | {"old": "x < 1", "new": "x <= 1"}]), tmp_path)
    assert fault.content == "def f(x):\n    return x <= 1\n"


def outcomes(noticed: int, survived: int) -> list[tuple[mutate.Fault, mutate.Outcome]]:
    return [*[(OTHER, NOTICED)] * noticed, *[(FAULT, SURVIVED)] * survived]


def test_a_survivor_without_a_reason_fails() -> None:
    lines, well = mutate.verdict(outcomes(99, 1), {})
    assert not well and any("no reason: write a test" in line for line in lines)
    assert lines[0] == "a.py: 99 of 100 faults noticed" and lines[-1] == "99 of 100 faults noticed, 99 % (at least 85 %)"
    lines, well = mutate.verdict(outcomes(99, 1), {FAULT.key: "it changes nothing"})
    assert well and any("it changes nothing" in line for line in lines)


@pytest.mark.parametrize(("noticed", "survived", "well"), [(17, 3, True), (16, 4, False), (0, 1, False), (0, 0, False), (1, 0, True)])
def test_85_per_cent_must_be_noticed(noticed: int, survived: int, well: bool) -> None:
    """Reasons do not help where too much goes unnoticed."""
    assert mutate.verdict(outcomes(noticed, survived), {FAULT.key: "it changes nothing"})[1] == well


def test_a_fault_that_is_none_is_not_planted() -> None:
    import ast

    bare = mutate._bare(ast.parse("def f(x: int | None) -> int:\n    return x < 1\n"))
    assert not mutate._is_other_code(bare, "def f(x: int & None) -> int:\n    return x < 1\n"), "an annotation"
    assert not mutate._is_other_code(bare, "def f(x: int | None) -> int:\n    return x <  1\n"), "a blank"
    assert not mutate._is_other_code(bare, "def f(x: int | None) -> int:\n    return x < \n"), "no code at all"
    assert mutate._is_other_code(bare, "def f(x: int | None) -> int:\n    return x <= 1\n")


def test_a_fault_is_planted_tested_and_taken_out(tmp_path: Path) -> None:
    """Outcomes follow from the exit status of the tests; what they leave behind is ended."""
    copy = mutate.Copy()
    copy.path = tmp_path
    (tmp_path / "a.py").write_text("def f(x):\n    return x < 1\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text("from a import f\n\n\ndef test_one():\n    assert f(0) and not f(2)\n", encoding="utf-8")
    (tmp_path / "test_b.py").write_text("from a import f\n\n\ndef test_one():\n    assert not f(1)\n", encoding="utf-8")
    content = "def f(x):\n    return x <= 1\n"
    for test, outcome in (("test_a.py", "survived"), ("test_b.py", "noticed")):
        fault = mutate.Fault("a.py", "return x < 1", "return x <= 1", content, (test,))
        assert copy.outcome(fault, 60) == outcome
        assert (tmp_path / "a.py").read_text() == "def f(x):\n    return x < 1\n"
    endless = mutate.Fault("a.py", "", "", "while True: pass\n", ("test_a.py",))
    assert copy.outcome(endless, 3) == "noticed"
    with pytest.raises(mutate.WrongList, match="does it name tests that exist"):
        copy.outcome(mutate.Fault("a.py", "", "", content, ("test_c.py",)), 60)
