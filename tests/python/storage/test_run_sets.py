"""Tests of run sets on disk: several targets' runs in one directory, written by one process and found again by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dpubench import schemas
from dpubench.errors import UserError
from dpubench.storage.runs import RunDirectory, RunSetWriter, find_run, member_path
from dpubench.studies.operators.rounds import WindowsWriter

NAMES = ("local", "bf2", "ssh://ubuntu@blue-field", "local:cpus=0-1,quota=50%")


def record_of(name: str, targets: tuple[str, ...] = NAMES, **changes: Any) -> dict[str, Any]:
    entries = [{"name": t, "spec": t, "label": "", "path": member_path(t), "status": "complete", "lost": ""} for t in targets]
    return {
        "schema": "dpubench.run-set/1", "name": name, "study": "operators", "plan": "quick", "status": "complete",
        "started": "2026-01-01T10:00:00Z", "finished": "2026-01-01T10:03:00Z", "command": "dpubench run", "version": "0.1.0",
        "baseline": "local", "targets": entries,
    } | changes  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Write a set ``s`` of several targets, which is the latest, and runs ``r`` and ``other`` of one target each; return their folder."""
    for name, target in (("r", "local"), ("other", "bf2")):
        with WindowsWriter.create(tmp_path, name, exact=True) as writer:
            writer.write_record({"schema": "dpubench.run/1", "name": name, "target": target})
    with RunSetWriter.create(tmp_path, "s", exact=True) as writer_of_set:
        writer_of_set.write_record(record_of("s"))
        writer_of_set.write_plan("plan: quick\n")
        writer_of_set.mark_latest()
        for target in NAMES:
            with writer_of_set.member(target, WindowsWriter) as member:
                member.write_record({"schema": "dpubench.run/1", "name": f"s@{target}", "target": target})
    return tmp_path


def test_a_set_is_read_as_its_runs_in_order(results: Path) -> None:
    found = find_run("latest", results)
    assert found.is_set and found.path == results / "s"
    assert [m.record()["name"] for m in found.members()] == [f"s@{t}" for t in NAMES]
    assert all(m.path.parent == results / "s" / "targets" and m.rounds_dir.is_dir() and not m.is_set for m in found.members())
    assert not schemas.fault("run-set", found.record())


def test_an_ordinary_run_is_its_own_only_member(results: Path) -> None:
    run = find_run("r", results)
    assert not run.is_set and [m.path for m in run.members()] == [run.path]


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("name", ["s", "latest"])
def test_a_member_is_found_by_name_and_target(results: Path, name: str, target: str) -> None:
    assert find_run(f"{name}@{target}", results).record()["name"] == f"s@{target}"


def test_a_run_of_one_target_answers_to_its_target_too(results: Path) -> None:
    assert find_run("other@bf2", results).path == results / "other"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("s@bf3", "s: was not measured on 'bf3'; did you mean 'bf2'?"),
        ("s@", "s: was not measured on ''; known: local, bf2"),
        ("r@bf2", "r: was not measured on 'bf2'; known: local"),
        ("t@bf2", "unknown run 't@bf2'"),
        ("@", "unknown run '@'"),
    ],
)
def test_a_member_that_is_not_there_is_named_with_what_is(results: Path, asked: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        find_run(asked, results)
    assert str(caught.value).startswith(message)


def test_directories_of_members_are_plain_and_differ() -> None:
    paths = [member_path(t) for t in (*NAMES, "ssh://ubuntu@blue field", "..", "/", "a/b", "a-b", "x" * 500)]
    assert len(set(paths)) == len(paths)
    assert paths[:2] == ["targets/local", "targets/bf2"]
    for path in paths:
        assert not schemas.fault("run-set", record_of("s", targets=("local",)) | {"targets": [
            {"name": "t", "spec": "t", "label": "", "path": path, "status": "running", "lost": ""}]})  # fmt: skip
        assert ".." not in Path(path).parts and len(path) < 100 and Path(path).name


def test_a_member_can_be_opened_again_and_has_a_lock_of_its_own(results: Path) -> None:
    with RunSetWriter(results / "s") as writer:
        with writer.member("bf2", WindowsWriter) as member:
            assert member.record()["name"] == "s@bf2"  # the earlier record is still there
            with pytest.raises(UserError, match="is writing this run"):
                WindowsWriter(member.path)
        with pytest.raises(UserError, match="is writing this run"):
            RunSetWriter(results / "s")
        with pytest.raises(UserError, match="is writing this run"):
            RunSetWriter.create(results, "s", exact=True)
    with RunSetWriter.create(results, "s", exact=False) as second:
        assert second.path.name == "s-2" and (second.path / "targets").is_dir()


def test_latest_is_the_set_and_not_a_member(results: Path) -> None:
    assert (results / "latest").readlink() == Path("s")
    assert sorted(p.name for p in (results / "s").iterdir()) == ["lock", "plan.yaml", "run.json", "targets"]


@pytest.mark.parametrize("path", ["../r", "/etc", "targets/../../r", "."])
def test_a_set_that_names_something_outside_is_refused(results: Path, path: str) -> None:
    record = record_of("s", targets=("local",))
    record["targets"][0]["path"] = path
    (results / "s" / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="is not within the set"):
        RunDirectory(results / "s").members()


def test_a_damaged_set_says_so(results: Path) -> None:
    (results / "s" / "run.json").write_text(json.dumps(record_of("s") | {"targets": [3]}))
    with pytest.raises(UserError, match="does not follow"):
        RunDirectory(results / "s").members()
