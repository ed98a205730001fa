"""Tests of the way to a machine behind ssh, with a real sshd: specs, host keys, logins, shells, and other things that answer instead."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from dpubench import targets
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.remote import channel, destination, scripts, trouble
from dpubench.targets.ssh import SshTarget
from dpubench.workers.ask import ask
from sshd import LIMITS, Sshd, gone, scripted


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
        ("ssh:host", "is not an ssh target"),
        ("ssh://-oProxyCommand=touch+x", "is not a host name"),
        ("ssh://u@-h", "is not a host name"),
        ("ssh://-l@h", "is not a user name"),
        ("ssh://u:secret@h", "a password does not belong on a command line"),
        ("ssh://h;reboot", "is not a host name"),
        ("ssh://$(reboot)@h", "is not a user name"),
        ("ssh://h\nProxyCommand x", "cannot hold blanks or control characters"),
        ("ssh://h h", "cannot hold blanks or control characters"),
        ("ssh://h:0", "is not a port"),
        ("ssh://h:ssh", "is not a port"),
        ("ssh://h:", "is not a port"),
        ("ssh://h:٣", "is not a port"),
        ("ssh://h/srv/x", "--directory /srv/x"),
        ("ssh://fe80::1", "write an IPv6 address in brackets: ssh://[fe80::1]"),
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


def test_an_unknown_host_is_not_trusted(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.known_hosts.write_text("")
    with pytest.raises(TargetLost, match=r"its host key is not known here .*connect once with `ssh -p \d+ \w+@127.0.0.1`"):
        make().open()
    assert sshd.known_hosts.read_text() == ""


def test_a_changed_host_key_is_refused(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.trust("another")
    with pytest.raises(TargetLost, match=rf"differs from the known key .*`ssh-keygen -f {sshd.known_hosts} -R '\[127.0.0.1\]:{sshd.port}'`"):
        make().open()
    assert not sshd.home.exists()


def test_a_changed_host_key_is_named_as_the_configuration_names_it(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    sshd.trust("another")
    known = sshd.known_hosts.read_text()
    sshd.known_hosts.write_text(known.replace(known.split()[0], "the-device"))
    with sshd.config.open("a") as config:
        config.write("\nHost *\n  HostKeyAlias the-device\n")
    with pytest.raises(TargetLost, match=rf"`ssh-keygen -f {sshd.known_hosts} -R the-device`"):
        make().open()


@pytest.mark.parametrize(
    ("spec", "said", "advised"),
    [
        ("ssh://u@h:2222", "", "ssh-keygen -R '[h]:2222'"),
        ("ssh://h", "", "ssh-keygen -R h"),
        ("ssh://h", "Host key for [10.0.0.1]:2222 has changed and you have requested strict checking.", "ssh-keygen -R '[10.0.0.1]:2222'"),
        ("ssh://h", "Host key for $(reboot) has changed", "ssh-keygen -R '$(reboot)'"),
        ("ssh://h", f"Offending ED25519 key in {Path.home()}/.ssh/known_hosts:3", "ssh-keygen -R h"),
        ("ssh://h", "Offending RSA key in /etc/ssh/ssh_known_hosts:3", "ssh-keygen -f /etc/ssh/ssh_known_hosts -R h"),
    ],
)
def test_the_command_that_removes_a_changed_host_key(spec: str, said: str, advised: str) -> None:
    errors = f"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n{said}\n"
    assert f"`{advised}`" in trouble.explain(errors, destination.parse(spec))


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
    with pytest.raises(TargetLost, match="its host name is unknown"):
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
    with pytest.raises(EnvironmentFault, match="the machine cannot be examined: refused"):
        make().open()


def test_what_answers_never_stops(sshd: Sshd, make: Callable[..., SshTarget], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_IDLE_END_S", 0.5)  # the endless printer never ends by itself, so a short wait is enough
    sshd.stop()
    sshd.shell = "yes #"
    sshd.start()
    with pytest.raises(EnvironmentFault, match="its output does not end"):
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
        assert ask(target, target.program("dpubench-operators"), ["--list"], **LIMITS)[0]["event"] == "hello"
    finally:
        target.close()
        subprocess.run(["ssh", "-F", sshd.config, "-O", "exit", "x"], capture_output=True, timeout=20, check=False)
    assert gone(sshd)


def test_a_small_userland_without_getconf_and_ldd_is_described(tmp_path: Path) -> None:
    """The userland is like busybox's. A shell's message about a missing program must not be taken for the name of a C library."""
    for name in (*scripts.NEEDED, "sh"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    words = ["env", "-i", f"PATH={tmp_path}", f"HOME={tmp_path}", "/bin/sh", "-c", scripts.PROBE]
    done = subprocess.run(words, input=b"\n", capture_output=True, timeout=20, check=True)
    told = dict(line.split(" ", 1) for line in done.stdout.decode().partition(scripts.PROBE_MARK.decode())[2].splitlines() if " " in line)
    assert "lacks" not in told and told["state"] == "absent" and told.get("libc", "musl") == "musl"
