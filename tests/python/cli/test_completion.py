"""Tests of the manual page and of shell completion, in real shells: both are made from the command line's parser."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import studies
from dpubench.cli import _completion, _manual, _surface

COMMANDS = _surface.commands(("aes", "crc", "checksum"))
BARE = {"PATH": "/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def installed(shell: str) -> str:
    """Return the shell's path, or skip the test."""
    found = shutil.which(shell, path=BARE["PATH"])
    if found is None:
        pytest.skip(f"{shell} is not installed here (`make deps-test` does)")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the scripts and a run called `before`."""
    for shell in _completion.SHELLS:
        (tmp_path / f"dpubench.{shell}").write_text(_completion.script(shell, COMMANDS))
    (tmp_path / "results/before").mkdir(parents=True)
    (tmp_path / "results/before/run.json").touch()
    (tmp_path / "plan.yaml").touch()
    return tmp_path


def in_bash(folder: Path, *words: str) -> set[str]:
    """Return what bash offers for the last of ``words``."""
    asked = 'source ./dpubench.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _dpubench; printf "%s\\n" "${COMPREPLY[@]}"'
    command = [installed("bash"), "--norc", "-c", asked, "bash", *words]
    done = subprocess.run(command, cwd=folder, env=BARE, capture_output=True, text=True, timeout=20, check=True)
    assert not done.stderr
    return set(done.stdout.split())


def in_fish(folder: Path, *words: str) -> set[str]:
    asked = f'source ./dpubench.fish; complete -C "{" ".join(words)}"'
    command = [installed("fish"), "--no-config", "-c", asked]
    environment = BARE | {"HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=20, check=True)
    assert not done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


def in_zsh(folder: Path, *words: str) -> set[str]:
    """Return what zsh offers. Its own functions, which need a line editor, print what they are given."""
    stubs = (
        "compdef() { :; }; _describe() { print -l -- ${(P)2%%:*} }; _values() { print -l -- ${@:4} }; _files() { print -l -- *(N) }; "
        'source ./dpubench.zsh; words=("$@"); CURRENT=$#; _dpubench'
    )
    command = [installed("zsh"), "-f", "-c", stubs, "zsh", *words]
    done = subprocess.run(command, cwd=folder, env=BARE, capture_output=True, text=True, timeout=20, check=True)
    assert not done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("ask", [in_bash, in_zsh, in_fish])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("dpubench", ""), {"run", "compare", "target", "doctor"}),
        (("dpubench", "run", ""), {*studies.names(), "plan.yaml"}),
        (("dpubench", "run", "--plan", ""), {"quick", "paper"}),
        (("dpubench", "run", "cores", "--"), {"--plan", "--operator", "--dry-run", "--footprint", "--target"}),
        (("dpubench", "run", "--footprint", ""), {"both", "resident", "stream", "memory"}),
        (("dpubench", "target", ""), {"add", "check", "list", "remove"}),
        (("dpubench", "target", "add", "--"), {"--bundle", "--directory"}),
        (("dpubench", "show", ""), {"latest", "before"}),
        (("dpubench", "describe", ""), {"aes", "crc"}),
        (("dpubench", "list", ""), {"engines", "ports", "models"}),
        (("dpubench", "import", "--study", ""), {"stress", "headroom"}),
    ],
)
def test_a_shell_offers(ask: object, words: tuple[str, ...], offered: set[str], folder: Path) -> None:
    assert callable(ask)
    assert offered <= ask(folder, *words)


def test_what_was_begun_is_completed_also_in_a_list(folder: Path) -> None:
    assert in_bash(folder, "dpubench", "run", "--pl") == {"--plan"}
    assert in_bash(folder, "dpubench", "re") == {"resume", "report"}
    assert in_bash(folder, "dpubench", "run", "--operator", "aes,c") == {"aes,crc", "aes,checksum"}
    assert not in_bash(folder, "dpubench", "run", "--name", "c")
    assert in_bash(folder, "dpubench", "run", "pl") == {"plan.yaml"}


def test_the_key_tab_completes_in_a_real_bash(folder: Path) -> None:
    """A line editor reads the keys, as at a terminal."""
    master, slave = pty.openpty()
    words = [installed("bash"), "--norc", "--noprofile", "-i"]
    with subprocess.Popen(words, cwd=folder, env=BARE | {"PS1": "$ "}, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as shell:
        os.close(slave)
        try:
            os.write(master, b'source ./dpubench.bash; dpubench() { echo "got:$*:"end; }\n')
            os.write(master, b"dpubench ru\tend-to\t--pla\tpap\t--dry\t\n")
            said, until = b"", time.monotonic() + 20
            while b":end" not in said and time.monotonic() < until:
                if select.select([master], [], [], 0.2)[0]:
                    said += os.read(master, 65536)
        finally:
            shell.kill()
            os.close(master)
    assert "got:run end-to-end --plan paper --dry-run:end" in " ".join(said.decode().split()), said


def roff() -> Iterator[str]:
    """Yield the lines of the page."""
    return iter(_manual.page(COMMANDS).splitlines())


def test_the_manual_page_renders_without_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "dpubench.1"
    page.write_text("\n".join(roff()) + "\n")
    words = ["man", "--warnings=all", "-E", "UTF-8", "-l", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, env=BARE | {"MANWIDTH": "80"}, timeout=30, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    shown = re.sub(r".\x08", "", done.stdout)
    assert "benchmark suite for DPUs" in shown and max(map(len, shown.splitlines())) <= 80
    for command in COMMANDS[1:]:
        assert command.usage in " ".join(shown.split()).replace("‐ ", ""), command.usage


def test_every_option_of_the_command_line_is_in_the_page_and_the_scripts() -> None:
    page, scripts = _manual.page(COMMANDS).replace("\\-", "-"), [_completion.script(shell, COMMANDS) for shell in ("bash", "zsh")]
    names = {name for command in COMMANDS for p in command.parameters if p.is_option for name in p.names}
    assert len(names) > 40
    for name in names:
        assert name in page and all(name in script for script in scripts), name


def test_the_commands_print_them(bench: Bench) -> None:
    done = bench("manual")
    assert done.returncode == 0 and done.stdout.startswith(".TH DPUBENCH 1")
    for shell in _completion.SHELLS:
        done = bench("completion", shell)
        assert done.returncode == 0 and "end-to-end" in done.stdout and "lookup" in done.stdout, done.stderr
    done = bench("completion", "tcsh")
    assert done.returncode == 2 and "there is no script for 'tcsh'" in done.stderr
