"""Targets over a real sshd: what goes wrong on the way, what a target may do to us, and that nothing is left there whatever happens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench import __main__ as main
from dpubench import bundle, targets
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.remote import agent, channel, destination, scripts, trouble
from dpubench.targets.ssh import SshTarget
from dpubench.workers.ask import ask
from dpubench.workers.process import Worker, WorkerFault
from real_program import BUILD, RealBench
from sshd import Sshd, running_under, scripted, small_bundle

AGENT = BUILD / "dpubench-agent"
OTHER = next(a for a in bundle.ARCHITECTURES if a != bundle.host_architecture())
LIMITS: dict[str, Any] = {"silence_s": 20.0, "limit_s": 60.0}
STUBBORN = "trap '' TERM HUP INT PIPE; setsid sleep 600 & sleep 600 & echo '{}' >{mark}; while :; do sleep 1; done\n"


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    server = Sshd(tmp_path / "sshd")
    monkeypatch.setenv("DPUBENCH_SSH_CONFIG", str(server.config))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(agent, "ANSWER_S", 15.0)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def make(sshd: Sshd, tmp_path: Path) -> Iterator[Callable[..., SshTarget]]:
    """Targets with a program of our own: a script."""
    made: list[SshTarget] = []

    def target(program: str = "echo '{}'\n", directory: str = "", **how: Any) -> SshTarget:
        archive = small_bundle(tmp_path / f"bundle{len(made)}.tar.gz", AGENT, program if program.startswith("#!") else f"#!/bin/sh\n{program}", **how)
        made.append(SshTarget("dev", sshd.spec, directory, archive))
        return made[-1]

    yield target
    for one in made:
        one.close()


def gone(sshd: Sshd, within_s: float = 15.0) -> bool:
    """Whether nothing of dpubench runs there and no connection is left, in the end."""
    given_up = time.monotonic() + within_s
    while (running_under(sshd.folder / "there") or sshd.sessions()) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not running_under(sshd.folder / "there") and not sshd.sessions()


def appears(path: Path, within_s: float = 20.0) -> None:
    given_up = time.monotonic() + within_s
    while not path.exists():
        assert time.monotonic() < given_up, path
        time.sleep(0.01)


# ---- specs


@pytest.mark.parametrize(
    ("spec", "typed", "words"),
    [
        ("ssh://bluefield", "bluefield", ["--", "bluefield"]),
        ("ssh://ubuntu@192.168.100.2/", "ubuntu@192.168.100.2", ["-l", "ubuntu", "--", "192.168.100.2"]),
        ("ssh://u@h:2222", "-p 2222 u@h", ["-p", "2222", "-l", "u", "--", "h"]),
        ("ssh://u@corp.example@jump", "u@corp.example@jump", ["-l", "u@corp.example", "--", "jump"]),
        ("ssh://[fe80::1%eth0]:22", "-p 22 fe80::1%eth0", ["-p", "22", "--", "fe80::1%eth0"]),
    ],
)
def test_specs_become_words(spec: str, typed: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPUBENCH_SSH_CONFIG", raising=False)
    where = destination.parse(spec)
    assert str(where) == typed
    command = where.command("CONSTANT")
    assert command[0] == "ssh" and command[-len(words) - 1 :] == [*words, "CONSTANT"]
    assert not [w for w in command if "HostKey" in w or "known" in w.lower()]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ssh://", "names no host"),
        ("ssh:host", "is no ssh target"),
        ("ssh://-oProxyCommand=touch+x", "is no name of a host"),
        ("ssh://u@-h", "is no name of a host"),
        ("ssh://-l@h", "is no name of a user"),
        ("ssh://u:secret@h", "a password does not belong on a command line"),
        ("ssh://h;reboot", "is no name of a host"),
        ("ssh://$(reboot)@h", "is no name of a user"),
        ("ssh://h\nProxyCommand x", "blanks and control characters"),
        ("ssh://h h", "blanks and control characters"),
        ("ssh://h:0", "is no port"),
        ("ssh://h:ssh", "is no port"),
        ("ssh://h:", "is no port"),
        ("ssh://h:٣", "is no port"),
        ("ssh://h/srv/x", "--directory /srv/x"),
        ("ssh://fe80::1", "stands in brackets: ssh://[fe80::1]"),
    ],
)
def test_what_is_no_destination(spec: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        targets.find(spec)
    assert says in str(error.value)
    assert "secret" not in str(error.value) or "password" in str(error.value)


def test_remote_commands_are_constants_that_any_login_shell_passes_on() -> None:
    for script in (scripts.PROBE, scripts.INSTALL, scripts.AGENT, scripts.PURGE):
        assert script.startswith("exec /bin/sh -c '") and script.endswith("'")
        inner = script[len("exec /bin/sh -c '") : -1]
        assert not set(inner) & set("'!\n") and "\\\\" not in inner and "{}" not in inner
        for shell in (["dash"], ["bash", "--posix"], ["busybox", "sh"]):
            assert subprocess.run([*shell, "-n", "-c", inner], capture_output=True, check=False).stderr == b""


@pytest.mark.parametrize(
    "said", ["", "\x1b[31mx", "Connection reset by 10.0.0.1 port 22\r\n", "a{b}c", "kex_exchange_identification: read: Connection reset"]
)
def test_every_word_of_ssh_becomes_a_sentence(said: str) -> None:
    text = trouble.explain(said, destination.parse("ssh://u@h"))
    assert text and text.isprintable()


# ---- the way there


def test_an_unknown_host_is_not_trusted(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.known_hosts.write_text("")
    with pytest.raises(TargetLost, match=r"its host key is not known here .*connect once with `ssh -p \d+ \w+@127.0.0.1`"):
        make().open()
    assert sshd.known_hosts.read_text() == ""


def test_a_changed_host_key_is_refused(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.trust("another")
    with pytest.raises(TargetLost, match=r"is not the one that is known here .*ssh-keygen -R 127.0.0.1"):
        make().open()
    assert not sshd.home.exists()


def test_a_refused_key(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.configure(user_key="stranger")
    with pytest.raises(TargetLost, match=r"refuses the login \(Permission denied \(publickey\)\).*ssh-copy-id"):
        make().open()


def test_nobody_listens(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make()
    sshd.stop()
    with pytest.raises(TargetLost, match="nothing answers at its ssh port"):
        target.open()


def test_no_such_host(sshd: Sshd) -> None:
    with pytest.raises(TargetLost, match="no machine of this name is known"):
        SshTarget("dev", "ssh://no-such-host.invalid").open()


def test_a_broken_configuration_of_ssh(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.config.write_text("Colour yes\n")
    with pytest.raises(UserError, match=r"ssh cannot use its configuration.*Bad configuration option: colour"):
        make().open()


def test_no_client(sshd: Sshd, make: Callable[..., SshTarget], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UserError, match="install the package openssh-client"):
        make().open()


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/dash", "busybox sh"])
def test_login_shells_of_different_make_that_talk(sshd: Sshd, make: Callable[..., SshTarget], shell: str) -> None:
    sshd.stop()
    sshd.shell, sshd.noise = shell, "Welcome to BlueField\nno newline here"
    sshd.start()
    target = make()
    target.open()
    assert target.cpus() and target.describe()["disk"]["path"] == str(sshd.home)
    target.close()
    assert gone(sshd)


def test_a_machine_without_tar(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    few = tmp_path / "bin"
    few.mkdir()
    for tool in ("gzip", "mkdir", "mv", "rm", "rmdir", "ls", "uname", "dirname"):
        (few / tool).symlink_to(str(shutil.which(tool)))
    sshd.stop()
    sshd.environment = {"PATH": str(few)}
    sshd.start()
    with pytest.raises(UserError, match="there is no tar, no readlink there"):
        make().open()


def test_what_answers_is_no_shell(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.stop()
    sshd.shell = "echo refused #"
    sshd.start()
    with pytest.raises(EnvironmentFault, match="what is there cannot be told: refused"):
        make().open()


def test_what_answers_never_stops(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.stop()
    sshd.shell = "yes #"
    sshd.start()
    with pytest.raises(EnvironmentFault, match="it prints without end"):
        make().open()
    assert gone(sshd)


def test_a_shared_connection_of_the_users_is_used(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    socket = sshd.folder / "mux"
    sshd.configure("ControlMaster auto", f"ControlPath {socket}", "ControlPersist yes")
    (sshd.folder / "script.json").write_text("{}")
    target = make(scripted(sshd.folder / "script.json"))
    try:
        target.open()
        assert socket.exists()
        assert ask(target, target.operators_program(), ["--list"], **LIMITS)[0]["event"] == "hello"
    finally:
        target.close()
        subprocess.run(["ssh", "-F", sshd.config, "-O", "exit", "x"], capture_output=True, timeout=20, check=False)
    assert gone(sshd)


# ---- bundles and folders


def test_a_bundle_is_sent_once_and_checked_each_time(sshd: Sshd, make: Callable[..., SshTarget], capsys: pytest.CaptureFixture[str]) -> None:
    target = make()
    target.open()
    assert "sending the native programs" in capsys.readouterr().err
    (bundles,) = (sshd.home / "bundles").iterdir()
    again = SshTarget("dev", sshd.spec, "", target._bundle)
    again.open()
    again.close()
    assert "sending" not in capsys.readouterr().err
    (bundles / "lib/dpubench-operators").write_text("#!/bin/sh\necho changed\n")
    repaired = SshTarget("dev", sshd.spec, "", target._bundle)
    repaired.open()
    repaired.close()
    assert "sending" in capsys.readouterr().err
    assert "changed" not in (bundles / "lib/dpubench-operators").read_text()
    assert [p.name for p in (sshd.home / "bundles").iterdir()] == [bundles.name]


def test_an_older_bundle_and_what_a_cut_install_left_go(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    make("echo old\n").open()
    (old,) = (sshd.home / "bundles").iterdir()
    (sshd.home / "bundles/.new.999999999").mkdir()
    (sshd.home / "bundles/mine").mkdir()
    target = make("echo new\n")
    target.open()
    assert {p.name for p in (sshd.home / "bundles").iterdir()} == {target._digest, old.name, "mine"}  # the first is still connected
    third = make("echo newest\n")
    target.close()
    for session in sshd.sessions():
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, signal.SIGKILL)
    assert gone(sshd)
    third.open()
    assert {p.name for p in (sshd.home / "bundles").iterdir()} == {third._digest, "mine"}


def test_bundles_that_do_not_fit(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"is a bundle for {OTHER}, and the machine there is {bundle.host_architecture()}: make one with"):
        make(architecture=OTHER).open()
    with pytest.raises(UserError, match=r"is a bundle of dpubench 0\.0\.1, and this is"):
        make(version="0.0.1").open()
    rubbish = tmp_path / "rubbish.tar.gz"
    rubbish.write_bytes(b"no archive")
    with pytest.raises(UserError, match="is no bundle of dpubench"):
        SshTarget("dev", sshd.spec, "", rubbish).open()
    with pytest.raises(EnvironmentFault, match="No such file"):
        SshTarget("dev", sshd.spec, "", tmp_path / "missing").open()
    assert not sshd.home.exists()


@pytest.mark.parametrize(
    "name", ["with blanks", "quo'te", 'dou"ble', "semi;touch x", "$(touch x)", "`touch x`", "-n", "ünï", "a*b", "back\\slash", "*"]
)
def test_any_folder_name_is_only_a_name(sshd: Sshd, make: Callable[..., SshTarget], name: str, tmp_path: Path) -> None:
    folder = tmp_path / "f" / name
    target = make("cat\n", str(folder))
    target.open()
    source = tmp_path / "in;put 'x\".txt"
    source.write_text("abc")
    (placed,) = target.place([source])
    assert placed == str(folder / "cache/inputs" / hashlib.sha256(b"abc").hexdigest() / source.name) and Path(placed).read_text() == "abc"
    assert target.cache_directory() == str(folder / "cache/prepared")
    target.close()
    assert target.purge() == str(folder)
    assert [p.name for p in (tmp_path / "f").iterdir()] == [] and not list(tmp_path.rglob("x"))


def test_a_line_break_in_a_folders_name_is_refused() -> None:
    for name in ("a\nb", "a\0b", "\x7f"):
        with pytest.raises(UserError, match="cannot be used there"):
            SshTarget("dev", "ssh://h", name)


def test_a_folder_of_somebody_elses_is_left_alone(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    (foreign / "bundles").mkdir(parents=True)
    target = make(directory=str(foreign))
    with pytest.raises(UserError, match="holds files that are not of dpubench"):
        target.open()
    with pytest.raises(UserError, match="carries no mark of dpubench's, so nothing in it is removed"):
        target.purge()
    assert (foreign / "bundles").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is there and is no folder"):
        make(directory=str(tmp_path / "file" / "x")).open()


def test_purge_leaves_what_is_not_ours(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make()
    target.open()
    target.close()
    (sshd.home / "notes.txt").touch()
    target.purge()
    assert [p.name for p in sshd.home.iterdir()] == ["notes.txt"]
    (sshd.home / "notes.txt").unlink()
    sshd.home.rmdir()
    target.purge()  # nothing is there: nothing to do


def test_a_folder_that_cannot_be_written(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    if os.geteuid() == 0:  # for whom permissions are no bar
        with pytest.raises(EnvironmentFault, match="the bundle cannot be put into /proc/dpubench: mkdir: "):
            make(directory="/proc/dpubench").open()
    else:
        (tmp_path / "mine").mkdir(0o555)
        with pytest.raises(UserError, match="mine cannot be written there: choose another"):
            make(directory=str(tmp_path / "mine" / "x")).open()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two MiB. Only who may mount can make a disk full without filling the machine's; elsewhere this is not tested."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here (it needs root)")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk(sshd: Sshd, make: Callable[..., SshTarget], small_disk: Path, tmp_path: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (2 << 20))
    (small_disk / "d").mkdir()
    full = make(directory=str(small_disk / "d"))
    with pytest.raises(EnvironmentFault, match=r"(?s)cannot be put into .*No space left on device.*free some space there"):
        full.open()
    assert list((small_disk / "d/bundles").iterdir()) == []
    filler.unlink()
    full.open()  # as if nothing had happened
    large = tmp_path / "large"
    large.write_bytes(os.urandom(3 << 20))
    with pytest.raises(EnvironmentFault, match=r"large: cannot be written: No space left on device \(errno 28\)"):
        full.place([large])
    assert list((small_disk / "d/cache/inputs").iterdir()) == []
    small = tmp_path / "small"
    small.write_text("x")
    assert Path(full.place([small])[0]).read_text() == "x"


def test_inputs_travel_once(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = make()
    target.open()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    contents = [b"", b"two", os.urandom(600_000)]
    for i, data in enumerate(contents):
        (corpus / f"{i}").write_bytes(data)
    odd = tmp_path / ("é" * 120)
    odd.write_bytes(b"two")
    files = sorted(corpus.iterdir())
    first = target.place([*files, odd])
    assert [Path(p).read_bytes() for p in first] == [*contents, b"two"]
    assert capsys.readouterr().err.count("sending") == 5  # with the programs
    assert target.place([*files, odd]) == first
    assert "sending" not in capsys.readouterr().err
    Path(first[1]).write_text("cut")
    assert target.place(files) == first[:3]  # the same length: it is not read again
    Path(first[1]).write_text("c")
    assert Path(target.place(files)[1]).read_bytes() == b"two"
    target.close()
    assert target.place([odd]) == first[3:]  # a conversation that ended is begun anew


# ---- programs there


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
        ("echo hello; sleep 600\n", "rubbish", "a line that is no JSON: 'hello'"),
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
        # The agent may still be about to end; the program is not.
        assert not [pid for pid in running_under(sshd.folder / "there/dpubench/bundles") if b"agent" not in cmdline(pid)]
    target.close()
    assert gone(sshd)


def cmdline(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"agent"


def test_two_workers_at_once(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make('echo \'{"event": "ready"}\'; cat >/dev/null\n')
    target.open()
    with Worker(target, "dpubench-operators", [], **LIMITS) as one, Worker(target, "dpubench-operators", [], **LIMITS) as two:
        assert (one.next_event(), two.next_event()) == ({"event": "ready"}, {"event": "ready"})
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
        for session in sshd.sessions():
            if b"sshd" in cmdline(session):
                os.kill(session, signal.SIGKILL)
        with pytest.raises(TargetLost, match=r"target dev: -p \d+ \w+@127.0.0.1: the connection was cut"):
            worker.next_event()
    assert gone(sshd)
    assert target.place([mark]) and not mark.is_dir()  # and it can be used again


def test_a_connection_that_goes_silent_is_lost(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    # Short for a test, and long enough for a machine on which many tests run.
    sshd.configure("ServerAliveInterval 2", "ServerAliveCountMax 2")
    mark = tmp_path / "runs"
    target = make(STUBBORN.replace("{mark}", str(mark)))
    target.open()
    target.close()
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker:
        appears(mark)
        stopped = [p for p in sshd.sessions() if b"sshd" in cmdline(p)]
        for session in stopped:
            os.kill(session, signal.SIGSTOP)
        with pytest.raises(TargetLost, match="it stopped answering"):
            worker.next_event()
    for session in stopped:  # the network is back: it notices
        os.kill(session, signal.SIGCONT)
    assert gone(sshd)


def test_a_machine_that_does_not_even_let_a_worker_end(
    sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "END_S", 1.0)
    mark = tmp_path / "runs"
    target = make(STUBBORN.replace("{mark}", str(mark)))
    target.open()
    target.close()
    with Worker(target, "dpubench-operators", [], silence_s=3.0, limit_s=60.0) as worker:
        appears(mark)
        stopped = [p for p in sshd.sessions() if b"sshd" in cmdline(p)]
        for session in stopped:
            os.kill(session, signal.SIGSTOP)
        with pytest.raises(TargetLost, match="it does not answer any more"):
            worker.next_event()
    for session in stopped:
        os.kill(session, signal.SIGCONT)
    assert gone(sshd)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("A....{}", "broke off into"),
        ("\\101\\0\\0\\0\\002[]", "no JSON object"),
        ("\\101\\0\\0\\0\\002{]", "no JSON"),
        ("\\101\\377\\377\\377\\377", "broke off into"),
        ('\\106\\0\\0\\0\\026{"message":"\\033[31m"}', "."),
        ("", "the connection ended without a word"),
    ],
)
def test_an_agent_that_is_none(sshd: Sshd, make: Callable[..., SshTarget], answer: str, says: str) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text(f"#!/bin/sh\nprintf '%s\\n' dpubench-agent/1\nprintf '{answer}'\n")
    with pytest.raises(EnvironmentFault, match=says) as error:
        target.place([there / "agent"])
    assert str(error.value).isprintable()
    target.close()
    assert gone(sshd)


def test_an_agent_that_only_makes_noise_or_nothing(sshd: Sshd, make: Callable[..., SshTarget], monkeypatch: pytest.MonkeyPatch) -> None:
    target = make()
    target.open()
    target.close()
    (there,) = (sshd.home / "bundles").iterdir()
    (there / "agent").write_text("#!/bin/sh\nexec yes\n")
    with pytest.raises(TargetLost, match="is no dpubench-agent: it printed"):
        target.place([there / "agent"])
    with Worker(target, "dpubench-operators", [], **LIMITS) as worker, pytest.raises(TargetLost, match="is no dpubench-agent"):
        worker.next_event()
    (there / "agent").write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(agent, "ANSWER_S", 0.5)
    with pytest.raises(TargetLost, match="it did not answer within"):
        target.place([there / "agent"])
    assert gone(sshd)


# ---- the command


@pytest.fixture
def away(bench: Bench, sshd: Sshd, tmp_path: Path) -> Bench:
    """``dpubench`` as a subprocess; the scripted program is also behind sshd, under the name ``dev``."""
    archive = small_bundle(tmp_path / "bundle.tar.gz", AGENT, scripted(tmp_path / "script.json"))
    shutil.copy(AGENT, bench.programs / "dpubench-agent")
    bench.environment |= {"DPUBENCH_SSH_CONFIG": str(sshd.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = bench("target", "add", "dev", sshd.spec, "--bundle", str(archive))
    assert done.returncode == 0, done.stderr
    return bench


def test_a_name_is_added_listed_checked_and_removed(away: Bench, sshd: Sshd, tmp_path: Path) -> None:
    file = tmp_path / "config/dpubench/targets.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert not sshd.home.exists()  # looking put nothing there
    listed = json.loads(away("target", "list", "--json").stdout)
    assert listed == [{"name": "dev", "spec": sshd.spec, "directory": "", "bundle": str(tmp_path / "bundle.tar.gz")}]
    assert sshd.spec in away("target", "list").stdout
    away.environment["COLUMNS"] = "80"
    checked = away("target", "check", "dev")
    assert checked.returncode == 0, checked.stderr
    assert all(len(line) <= 80 for line in checked.stdout.splitlines())
    assert "engines" in checked.stdout and "cannot run: no device of this kind" in checked.stdout and "crc/gpu" in checked.stdout
    told = json.loads(away("target", "check", "dev", "--json").stdout)
    assert told["target"]["disk"]["path"] == str(sshd.home) and any(not e["available"] for e in told["engines"])
    assert away("target", "remove", "dev", "--purge").returncode == 0
    assert not sshd.home.exists()
    assert "no target has a name yet" in away("target", "list").stdout
    assert gone(sshd)


WRONG_COMMANDS = [
    (("add", "local", "SPEC"), 2, "is a kind of target"),
    (("add", "a b", "SPEC"), 2, "is no name for a target"),
    (("add", "../x", "SPEC"), 2, "is no name for a target"),
    (("add", "x", "telnet://h"), 2, "of no kind of target"),
    (("add", "x", "local", "--directory", "/x"), 2, "are for ssh targets"),
    (("add", "x", "local:cpus=z"), 2, "neither a CPU nor a range"),
    (("add", "dev", "ssh://elsewhere"), 2, "`dpubench target remove dev` first"),
    (("add", "x", "SPEC", "--directory", "a\nb"), 2, "cannot be used there"),
    (("add", "x", "SPEC", "--bundle", "/nonexistent"), 1, "No such file"),
    (("add", "x", "ssh://127.0.0.1:1"), 1, "not added (--no-check adds it all the same)"),
    (("remove", "dve"), 2, "did you mean 'dev'"),
    (("check", "dve"), 2, "did you mean 'dev'"),
    (("chek", "dev"), 2, "did you mean 'check'"),
]
WRONG_FILES = [
    ("dev:\n  spec: 3\n", "targets.yaml:1: dev: needs a `spec`"),
    ("dev: {spec: local}\nx:\n  spec: local\n  pasword: y\n", "targets.yaml:4: x.pasword: is unknown"),
    ("-x: {spec: local}\n", "targets.yaml:1: -x: '-x' is no name"),
    ("dev: !!python/object:os.system {}\n", "targets.yaml:1"),
    ("dev: {spec: [\n", "targets.yaml:"),
    ("- dev\n", "targets.yaml:1: a file of targets is a mapping"),
    ("dev: {spec: nowhere}\n", "of no kind of target"),
    ("dev: {spec: ssh://h, bundle: 3}\n", "targets.yaml:1: dev.bundle: is no text"),
    ("\xff", "is no text in UTF-8"),
]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of targets, in which one is called dev."""
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
    assert main.status(["target", "add", "x", "ssh://127.0.0.1:1", "--no-check"]) == 0  # as it is already
    assert [e["name"] for e in listed(capsys)] == ["dev", "x"]
    named.write_text("# nothing yet\n")
    assert listed(capsys) == []


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main.status(["target", "list", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_a_run_on_two_targets(away: Bench, sshd: Sshd) -> None:
    done = away("run", "--name", "r", "--target", "local", "--target", "dev", "--operator", "crc", "--engine", "portable,isal", "--budget", "20s")
    assert done.returncode == 0, done.stderr
    there = (
        away.record("r@dev")
        if (away.results / "r@dev").exists()
        else json.loads(next((away.results / "r/targets").glob("dev*/run.json")).read_text())
    )
    assert there["status"] == "complete" and there["target_info"] == {"spec": sshd.spec, "label": ""}
    assert all(p["id"].endswith("@dev") for p in there["points"])
    assert gone(sshd)


RUN = ("run", "--name", "r", "--target", "dev", "--operator", "crc", "--engine", "portable,isal", "--budget", "60s")


def under_way(away: Bench) -> None:
    given_up = time.monotonic() + 40
    while not list((away.results / "r").glob("**/rounds/*")):
        assert time.monotonic() < given_up
        time.sleep(0.02)
    time.sleep(0.3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_there(away: Bench, sshd: Sshd, number: int) -> None:
    away.script(window_s=0.05)
    process = away.start(*RUN)
    under_way(away)
    assert running_under(sshd.folder / "there")
    process.send_signal(number)
    _, errors = process.communicate(timeout=40)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), errors
    assert gone(sshd)


def test_a_run_whose_connection_is_cut_keeps_what_it_has_and_resumes(away: Bench, sshd: Sshd) -> None:
    away.script(window_s=0.05)
    process = away.start(*RUN)
    under_way(away)
    for session in sshd.sessions():
        if b"sshd" in cmdline(session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "connection was cut" in errors and "Traceback" not in errors, errors
    assert gone(sshd)
    away.script()
    done = away("resume", "r")
    assert done.returncode == 0, done.stderr
    assert away.record("r")["status"] == "complete"
    assert gone(sshd)


def test_the_real_programs_over_there(real: RealBench, sshd: Sshd, tmp_path: Path) -> None:
    real.environment |= {"DPUBENCH_SSH_CONFIG": str(sshd.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = real("run", real.plan(), "--name", "r", "--target", sshd.spec, "--operator", "sha256,lpm", "--size", "256B")
    assert done.returncode == 0, done.stderr
    record = real.record("r")
    assert record["status"] == "complete" and not record["failures"]
    assert {p["configuration"].split("/")[0] for p in record["points"]} == {"sha256", "lpm"}
    assert gone(sshd)


def test_many_names_are_added_at_once(bench: Bench, tmp_path: Path) -> None:
    bench.environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    threads = [threading.Thread(target=bench, args=("target", "add", f"t{i}", "local", "--no-check")) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(e["name"] for e in json.loads(bench("target", "list", "--json").stdout)) == ["t0", "t1", "t2", "t3"]
