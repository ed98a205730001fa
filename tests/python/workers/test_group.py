"""Tests of groups: programs that are watched and ended together, here and behind a real sshd."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dpubench.errors import Interrupted, TargetLost
from dpubench.targets.local import LocalTarget
from dpubench.targets.ssh import SshTarget
from dpubench.workers.group import Group, MemberFault
from dpubench.workers.process import StopRequest
from sshd import LIMITS, Sshd, cmdline, gone, running_under

#: A program whose argument says what to do; ``steady`` obeys its input. Each has a child that nothing but SIGKILL ends, whose number it writes
#: to a file of its own in the folder. The child holds the program's output open, except with ``deaf``.
PROGRAM = """#!/bin/sh
case "$1" in deaf) exec 3>/dev/null ;; *) exec 3>&1 ;; esac
sh -c 'trap "" TERM HUP INT PIPE; echo $$ >"$0"; exec sleep 600' "$2/$3" >&3 3>&- &
exec 3>&-
while [ ! -s "$2/$3" ]; do sleep 0.01; done
say() { printf '{"event": "%s"%s}\\n' "$1" "$2"; }
say ready
case "$1" in
  dies) read line; kill -SEGV $$ ;;
  fails) read line; echo "out of luck" >&2; exit 3 ;;
  rubbish) read line; echo hello; sleep 600 ;;
  deaf) exec >&-; sleep 600 ;;
  chatty) while :; do say progress ', "phase": "measure", "done": 1, "of": 2, "group": "g"'; sleep 0.01; done ;;
  ends) exit 0 ;;
esac
while read line; do
  case "$line" in end) exit 0 ;; *) say ready ;; esac
done
"""
FAST: dict[str, Any] = {"silence_s": 2.0, "limit_s": 60.0}


def children(folder: Path) -> list[int]:
    """Return the children that the programs have started."""
    return [int(file.read_text()) for file in folder.iterdir() if file.read_text().strip()]


def none_lives(pids: list[int], within_s: float = 10.0) -> bool:
    """Return whether none of these processes runs any more."""
    given_up = time.monotonic() + within_s
    while (left := [pid for pid in pids if runs(pid)]) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not left


def runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "children").mkdir()
    return tmp_path / "children"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return str(path)


def started(group: Group, program: str, folder: Path, limits: dict[str, Any] = LIMITS, **what: str) -> None:
    """Start a program for each keyword, which names it and says what it does, and await that all are ready."""
    for name, does in what.items():
        group.start(name, LocalTarget(), program, [does, str(folder), name], **limits)
        assert group.next_event(name) == (name, {"event": "ready"})


def test_events_come_from_whoever_has_one_and_ends_are_told(program: str, folder: Path) -> None:
    with Group() as group:
        started(group, program, folder, one="steady", two="steady", three="steady")
        group.send("two", b"speak\n")
        assert group.next_event() == ("two", {"event": "ready"})
        group.send("three", b"speak\n")
        group.send("one", b"speak\n")
        assert group.next_event("one") == ("one", {"event": "ready"})  # what another one says meanwhile is kept
        assert group.next_event("two", "three") == ("three", {"event": "ready"})
        for name in ("three", "one", "two"):
            group.send(name, b"end\n", last=True)
            assert group.next_event(name) == (name, None)
        assert group.running == []
        with pytest.raises(ValueError, match="all have ended"):
            group.next_event()
    assert none_lives(children(folder))


@pytest.mark.parametrize(
    ("does", "says", "kind"),
    [
        ("dies", "two: it was killed by SIGSEGV", "crash"),
        ("fails", "two: it ended with status 3; it said: out of luck", "crash"),
        ("rubbish", "two: it printed a line that is not JSON: 'hello'", "rubbish"),
    ],
)
def test_a_fault_of_one_is_told_while_another_is_awaited_and_ends_all(program: str, folder: Path, does: str, says: str, kind: str) -> None:
    with Group() as group:
        started(group, program, folder, one="steady", two=does, three="steady")
        group.send("two", b"go\n")
        with pytest.raises(MemberFault, match=re.escape(says)) as fault:
            group.next_event("one")
        assert (fault.value.name, fault.value.kind) == ("two", kind)
        assert not any(runs(pid) for pid in (*group.pids().values(), *children(folder)))
        with pytest.raises(MemberFault, match=re.escape(says)):  # it stays said
            group.next_event("three")


def test_silence_is_held_against_those_alone_that_must_speak(program: str, folder: Path) -> None:
    with Group() as group:
        started(group, program, folder, FAST, quiet="steady", chatty="chatty")
        end = time.monotonic() + 3
        while time.monotonic() < end:  # longer than anybody may be silent who is awaited
            assert group.next_event("chatty")[0] == "chatty"
        with pytest.raises(MemberFault, match="quiet: it hung: no event for 2 s"):
            group.next_event("quiet")  # although another one never stops to talk
        assert none_lives(children(folder))


def test_a_program_that_closes_its_output_and_goes_on(program: str, folder: Path) -> None:
    with Group() as group:
        started(group, program, folder, FAST, one="steady", deaf="deaf")
        with pytest.raises(MemberFault, match="deaf: it closed its output and did not end") as fault:
            group.next_event("deaf")
        assert fault.value.kind == "hang"
    assert none_lives(children(folder))


def test_everybody_gets_a_word_in(program: str, folder: Path) -> None:
    with Group() as group:
        started(group, program, folder, one="chatty", two="chatty", three="steady")
        group.send("three", b"speak\n")
        assert {group.next_event()[0] for _ in range(1000)} == {"one", "two", "three"}


def test_one_that_ended_well_does_not_disturb_the_others(program: str, folder: Path) -> None:
    with Group() as group:
        started(group, program, folder, one="steady", two="ends")
        group.send("one", b"speak\n")
        assert group.next_event("one") == ("one", {"event": "ready"})
        assert group.next_event("two") == ("two", None)
        with pytest.raises(ValueError, match="not running: two"):
            group.next_event("one", "two")


def test_a_stop_ends_all(program: str, folder: Path) -> None:
    with StopRequest() as stop:
        with pytest.raises(Interrupted, match="stopped by SIGTERM"), Group(stop) as group:
            started(group, program, folder, one="steady", two="steady")
            os.kill(os.getpid(), signal.SIGTERM)
            group.next_event()
        assert len(children(folder)) == 2 and none_lives(children(folder))


def test_what_cannot_be_started_ends_what_was(program: str, folder: Path) -> None:
    with pytest.raises(Exception, match="cannot be started"), Group() as group:
        started(group, program, folder, one="steady")
        group.start("two", LocalTarget(), "/no/such/program", **LIMITS)
    assert none_lives(children(folder))
    with Group() as group:
        started(group, program, folder, one="steady")
        with pytest.raises(ValueError, match="called one already"):
            group.start("one", LocalTarget(), sys.executable, **LIMITS)


# --- on two machines


def both(group: Group, there: SshTarget, program: str, folder: Path, **what: str) -> None:
    """Start a program here, called ``here``, and one there for each keyword."""
    started(group, program, folder, here="steady")
    for name, does in what.items():
        group.start(name, there, "dpubench-operators", [does, str(folder), name], **LIMITS)
    for name in what:
        assert group.next_event(name) == (name, {"event": "ready"})


def test_programs_there_share_a_connection_and_one_that_dies_ends_all(sshd: Sshd, make: Callable[..., SshTarget], program: str, folder: Path) -> None:
    target = make(PROGRAM.partition("\n")[2])
    target.open()
    target.close()
    with Group() as group:
        both(group, target, program, folder, one="steady", two="fails", three="steady")
        assert len({pid for name, pid in group.pids().items() if name != "here"}) == 1
        group.send("two", b"go\n")
        with pytest.raises(MemberFault, match="two: it ended with status 3; it said: out of luck"):
            group.next_event("here")
        assert len(children(folder)) == 4 and none_lives(children(folder))
    assert gone(sshd)


def test_a_fault_here_ends_what_runs_there(sshd: Sshd, make: Callable[..., SshTarget], program: str, folder: Path) -> None:
    target = make(PROGRAM.partition("\n")[2])
    target.open()
    target.close()
    with Group() as group:
        both(group, target, program, folder, one="steady", two="chatty")
        os.kill(group.pids()["here"], signal.SIGKILL)
        with pytest.raises(MemberFault, match="here: it was killed by SIGKILL"):
            group.next_event("one")
        assert len(children(folder)) == 3 and none_lives(children(folder))
    assert gone(sshd)


def test_a_cut_connection_ends_all(sshd: Sshd, make: Callable[..., SshTarget], program: str, folder: Path) -> None:
    target = make(PROGRAM.partition("\n")[2])
    target.open()
    target.close()
    with Group() as group:
        both(group, target, program, folder, one="steady", two="steady")
        for session in (pid for pid in sshd.sessions() if cmdline(pid).startswith(b"sshd")):  # not the agent, whose path has the word too
            os.kill(session, signal.SIGKILL)
        with pytest.raises(TargetLost, match=r"(one|two): target dev: .*: the connection was cut"):
            group.next_event("here")
        assert none_lives([group.pids()["here"]])
    assert gone(sshd) and none_lives(children(folder))
    assert not running_under(sshd.folder / "there")
