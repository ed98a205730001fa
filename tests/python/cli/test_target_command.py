"""Tests of ``dpubench target``: names are added, listed, checked and removed, and faults in a command or in the file of targets are reported."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import __main__ as main
from real_program import BUILD
from sshd import Sshd, gone, scripted, small_bundle


def test_a_name_is_added_listed_checked_and_removed(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "script.json").write_text("{}")
    archive = small_bundle(tmp_path / "bundle.tar.gz", BUILD / "dpubench-agent", scripted(tmp_path / "script.json"))

    def told(*arguments: str) -> str:
        assert main.status(["target", *arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    told("add", "dev", sshd.spec, "--bundle", str(archive))
    assert (tmp_path / "config/dpubench/targets.yaml").stat().st_mode & 0o777 == 0o600
    assert not sshd.home.exists()  # the check of the machine put nothing there
    assert json.loads(told("list", "--json")) == [{"name": "dev", "spec": sshd.spec, "directory": "", "bundle": str(archive)}]
    assert sshd.spec in told("list")
    checked = told("check", "dev")
    assert all(len(line) <= 80 for line in checked.splitlines())
    assert "engines" in checked and "cannot run: no device of this kind" in checked and "crc/gpu" in checked
    found = json.loads(told("check", "dev", "--json"))
    assert found["target"]["disk"]["path"] == str(sshd.home) and any(not e["available"] for e in found["engines"])
    told("remove", "dev", "--purge")
    assert not sshd.home.exists()
    assert "no target has a name yet" in told("list")
    assert gone(sshd)


WRONG_COMMANDS = [
    (("add", "local", "SPEC"), 2, "is a kind of target"),
    (("add", "a b", "SPEC"), 2, "cannot name a target"),
    (("add", "../x", "SPEC"), 2, "cannot name a target"),
    (("add", "x", "telnet://h"), 2, "does not begin with a kind of target"),
    (("add", "x", "local", "--directory", "/x"), 2, "a target of kind local takes no directory: remove it"),
    (("add", "x", "local:cpus=z"), 2, "neither a CPU nor a range"),
    (("add", "dev", "ssh://elsewhere"), 2, "remove it first with `dpubench target remove dev`"),
    (("add", "x", "SPEC", "--directory", "a\nb"), 2, "cannot be used: choose another folder"),
    (("add", "x", "SPEC", "--bundle", "/nonexistent"), 1, "No such file"),
    (("add", "x", "ssh://127.0.0.1:1"), 1, "the target is not added (--no-check adds it anyway)"),
    (("remove", "dve"), 2, "did you mean 'dev'"),
    (("check", "dve"), 2, "did you mean 'dev'"),
    (("chek", "dev"), 2, "did you mean 'check'"),
]
WRONG_FILES = [
    ("dev:\n  spec: 3\n", "targets.yaml:1: dev: needs a `spec`"),
    ("dev: {spec: local}\nx:\n  spec: local\n  pasword: y\n", "targets.yaml:4: x.pasword: is unknown"),
    ("-x: {spec: local}\n", "targets.yaml:1: -x: '-x' cannot name a target"),
    ("dev: !!python/object:os.system {}\n", "targets.yaml:1"),
    ("dev: {spec: [\n", "targets.yaml:"),
    ("- dev\n", "targets.yaml:1: a file of targets must be a mapping"),
    ("dev: {spec: nowhere}\n", "does not begin with a kind of target"),
    ("dev: {spec: ssh://h, bundle: 3}\n", "targets.yaml:1: dev.bundle: must be text"),
    ("\xff", "is not UTF-8 text"),
]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the file of targets, which has one named dev."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main.status(["target", "add", "dev", "ssh://h", "--no-check"]) == 0
    return tmp_path / "dpubench/targets.yaml"


@pytest.mark.parametrize(("arguments", "status", "words"), WRONG_COMMANDS)
def test_wrong_commands(arguments: tuple[str, ...], status: int, words: str, named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = named.read_text()
    assert main.status(["target", *(a.replace("SPEC", "ssh://h") for a in arguments)]) == status
    assert words in capsys.readouterr().err
    assert named.read_text() == before


@pytest.mark.parametrize(("text", "words"), WRONG_FILES)
def test_wrong_files(text: str, words: str, named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named.write_text(text, encoding="latin-1")
    assert main.status(["target", "check", "dev"]) == 2
    assert words in capsys.readouterr().err


def test_what_cannot_be_reached_is_added_on_request(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.status(["target", "add", "x", "ssh://127.0.0.1:1", "--no-check"]) == 0
    assert main.status(["target", "add", "x", "ssh://127.0.0.1:1", "--no-check"]) == 0  # the same target again
    assert [e["name"] for e in listed(capsys)] == ["dev", "x"]
    named.write_text("# nothing yet\n")
    assert listed(capsys) == []


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main.status(["target", "list", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_many_names_are_added_at_once(bench: Bench, tmp_path: Path) -> None:
    bench.environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    threads = [threading.Thread(target=bench, args=("target", "add", f"t{i}", "local", "--no-check")) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(e["name"] for e in json.loads(bench("target", "list", "--json").stdout)) == ["t0", "t1", "t2", "t3"]
