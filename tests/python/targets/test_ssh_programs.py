"""Tests of programs behind a real sshd: misbehaviour of programs and agents, connections that are cut or go silent; nothing stays there."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from dpubench.errors import EnvironmentFault, TargetLost
from dpubench.remote import agent, channel
from dpubench.remote.programs import CONNECTION_FAILED
from dpubench.targets.ssh import SshTarget
from dpubench.workers.process import Worker, WorkerFault
from sshd import LIMITS, Sshd, appears, cmdline, gone, running_under

STUBBORN = "trap '' TERM HUP INT PIPE; setsid sleep 600 & sleep 600 & echo '{}' >{mark}; while :; do sleep 1; done\n"


def test_input_output_arguments_and_status(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make("""printf '%s|' "$@" >&2; echo "$X" >&2; n=$(cat | wc -c); printf '{"event": "%s"}\\n' $n; exit 3\n""")
    target.open()
    with Worker(target, "dpubench-operators", ["a b", '\'; reboot; "$x"'], environment={"X": "y z"}, **LIMITS) as worker:
        worker.send(b"x" * 300_000)
        worker.send(b"y" * 5, last=True)
        with pytest.raises(WorkerFault, match="an event of unknown kind '300005'"):
            worker.next_event()
    quiet = make('printf "%s|" "$@" "$X" >&2; exit 3\n')
    quiet.open()
    with (
        Worker(quiet, "dpubench-operators", ["a b", '\'; reboot; "$x"'], environment={"X": "y z"}, **LIMITS) as worker,
        pytest.raises(WorkerFault, match=r"it ended with status 3; it said: a b\|'; reboot; \"\$x\"\|y z\|"),
    ):
        worker.next_event()
    with Worker(quiet, "no-such-program", [], **LIMITS) as worker, pytest.raises(WorkerFault, match="there is no such program in this bundle"):
        worker.next_event()


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        ("echo hello; sleep 600\n", "rubbish", "a line that is not JSON: 'hello'"),
        ("head -c 1000000000 /dev/zero; sleep 600\n", "rubbish", "a line of more than 1 MiB"),
        ('while :; do echo \'{"event": "ready"}\'; done\n', "rubbish", "a ready event|more than"),
        ("kill -SEGV $$\n", "crash", "killed by SIGSEGV"),
        ("sleep 600\n", "hang", "it hung: no event"),
        ("exec >&-; sleep 600\n", "hang", "it hung: no event"),
    ],
)
def test_a_program_that_misbehaves_is_ended_there(sshd: Sshd, make: Callable[..., SshTarget], program: str, kind: str, says: str) -> None:
    target = make(program)
    target.open()
    with Worker(target, "dpubench-operators", [], silence_s=2.0, limit_s=60.0) as worker:
        with pytest.raises(WorkerFault, match=says) as fault:
            while worker.next_event() is not None:
                pass
        assert fault.value.kind == kind
        # The agent may still be about to end, but the program is gone.
        assert not [pid for pid in running_under(sshd.folder / "there/dpubench/bundles") if b"agent" not in cmdline(pid)]
    target.close()
    assert gone(sshd)


def test_two_workers_at_once(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make('echo \'{"event": "ready"}\'; cat >/dev/null\n')
    target.open()
    target.close()
    with Worker(target, "dpubench-operators", [], **LIMITS) as one, Worker(target, "dpubench-operators", [], **LIMITS) as two:
        assert (one.next_event(), two.next_event()) == ({"event": "ready"}, {"event": "ready"})
        assert one.pid == two.pid and len([pid for pid in sshd.sessions() if b"dpubench-agent" in cmdline(pid)]) == 3  # it and two supervisors
        one.send(b"", last=True)
        assert one.next_event() is None
        two.send(b"x", last=True)
        assert two.next_event() is None
    target.close()
    assert gone(sshd)


def test_a_cut_connection_is_lost_and_nothing_stays_there(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    mark = tmp_path / "runs"
    target = make(STUBBORN.replace("{mark}", str(mark)))
    target.open()
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker:
        appears(mark)
        assert len(running_under(sshd.folder / "there")) >= 2
        assert sshd.signal_sessions(signal.SIGKILL)
        with pytest.raises(TargetLost, match=r"target dev: -p \d+ \w+@127.0.0.1: the connection was cut"):
            worker.next_event()
    assert gone(sshd)
    assert target.place([mark]) and not mark.is_dir()  # the target can be used again


def test_a_connection_that_goes_silent_is_lost(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    # The time is short for a test, but long enough for a machine on which many tests run.
    sshd.configure("ServerAliveInterval 2", "ServerAliveCountMax 2")
    mark = tmp_path / "runs"
    target = make(STUBBORN.replace("{mark}", str(mark)))
    target.open()
    target.close()
    with contextlib.ExitStack() as network, Worker(target, "dpubench-operators", [], **LIMITS) as worker:
        appears(mark)
        network.enter_context(sshd.silent())  # until the worker has been given up
        with pytest.raises(TargetLost, match="it stopped answering"):
            worker.next_event()
    assert gone(sshd)


def test_a_machine_that_does_not_even_let_a_worker_end(
    sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "END_S", 0.5)
    mark = tmp_path / "runs"
    target = make(STUBBORN.replace("{mark}", str(mark)))
    target.open()
    target.close()
    with contextlib.ExitStack() as network, Worker(target, "dpubench-operators", [], silence_s=3.0, limit_s=60.0) as worker:
        appears(mark)
        network.enter_context(sshd.silent())  # until the worker has been given up
        with pytest.raises(TargetLost, match="it does not answer any more"):
            worker.next_event()
    assert gone(sshd)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("A......{}", "sent bytes that are not a frame:"),
        ("\\101\\0\\0\\0\\0\\0\\002[]", "answer is not a JSON object"),
        ("\\101\\0\\0\\0\\0\\0\\002{]", "answer is not JSON"),
        ("\\101\\0\\0\\377\\377\\377\\377", "sent bytes that are not a frame:"),
        ('\\106\\0\\0\\0\\0\\0\\026{"message":"\\033[31m"}', "."),
        ("", "the connection ended without a message"),
    ],
)
def test_an_agent_that_is_none(sshd: Sshd, make: Callable[..., SshTarget], answer: str, says: str) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text(f"#!/bin/sh\nprintf '%s\\n' dpubench-agent/2\nprintf '{answer}'\n")
    with pytest.raises(EnvironmentFault, match=says) as error:
        target.place([there / "agent"])
    assert str(error.value).isprintable()
    target.close()
    assert gone(sshd)


def test_an_agent_of_another_version(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text("#!/bin/sh\nprintf '%s\\n' dpubench-agent/1\nexec cat >/dev/null\n")
    says = "its agent speaks version 1 of the frames, and this dpubench version 2"
    with pytest.raises(TargetLost, match=says):
        target.place([there / "agent"])
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker, pytest.raises(TargetLost, match=says):
        worker.next_event()
    assert gone(sshd)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("\\117\\0\\002\\0\\0\\0\\0", "its agent speaks of an unknown program"),
        ("\\124\\0\\001\\0\\0\\0\\004\\0\\0\\0\\001", "its agent took more input than was sent"),
        ("\\124\\0\\001\\0\\0\\0\\001x", "its agent counts bytes in a frame of a wrong length"),
        ('\\130\\0\\001\\0\\0\\0\\015{"status":-1}', "its agent did not say how a program ended"),
        ('\\106\\0\\0\\0\\0\\0\\026{"message":"confused"}', "confused"),
    ],
)
def test_an_agent_that_lies_about_a_program(sshd: Sshd, make: Callable[..., SshTarget], answer: str, says: str) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text(f"#!/bin/sh\nprintf '%s\\n' dpubench-agent/2\nprintf '{answer}'\nexec cat >/dev/null\n")
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker, pytest.raises((TargetLost, WorkerFault), match=says):
        worker.next_event()
    assert gone(sshd)


def test_an_agent_that_sends_more_than_was_asked_for(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    flood = "while :; do printf '\\117\\0\\001\\0\\0\\100\\0'; head -c 16384 /dev/zero; done"
    (there / "agent").write_text(f"#!/bin/sh\nprintf '%s\\n' dpubench-agent/2\n{flood}\n")
    process = target.start("dpubench-operators", [])
    assert process.wait(20.0) == CONNECTION_FAILED  # nobody reads its output, so that none of it counts as taken
    assert "its agent sent more of a program's output than was asked for" in process.lost()
    process.close()
    assert gone(sshd)


def test_an_agent_that_only_makes_noise_or_nothing(sshd: Sshd, make: Callable[..., SshTarget], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_IDLE_END_S", 0.5)  # the noisy agent never ends by itself, so a short wait is enough
    monkeypatch.setattr(channel, "END_S", 0.5)
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text("#!/bin/sh\nexec yes\n")
    with pytest.raises(TargetLost, match="is not dpubench-agent: it printed"):
        target.place([there / "agent"])
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker, pytest.raises(TargetLost, match="is not dpubench-agent"):
        worker.next_event()
    (there / "agent").write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(agent, "ANSWER_S", 0.5)
    with pytest.raises(TargetLost, match="it did not answer within"):
        target.place([there / "agent"])
    assert gone(sshd)
