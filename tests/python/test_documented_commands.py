"""Every ``dpubench`` command that README and docs show is one that the command line takes.

Options and arguments are parsed by the real command line. Commands of ``run`` go further: what can be measured here is expanded with ``--dry-run``;
of the others the plan is read and checked with the options laid over it.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench import anchors, studies
from dpubench.__main__ import status
from dpubench.cli import application
from dpubench.run import session
from real_program import PROGRAM

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
#: A command in a code block: at the beginning of a line, after a prompt, or behind `;`, `&&` or `||`.
SHOWN = re.compile(r"(?:^\s+|; |&& |\|\| |\$ )(?:\.venv/bin/)?dpubench ([^;|&#`]+)")
#: A command in a sentence; one with capital placeholders (`FILE`) is parsed as well.
INLINE = re.compile(r"`dpubench ([^`]+)`")


def shown() -> Iterator[Any]:
    """Yield the words of each command, once, under the page and line where it stands."""
    seen = set()
    for page in PAGES:
        in_fence = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            in_fence ^= line.lstrip().startswith("```")
            found = SHOWN.findall(line) if in_fence or line.startswith("    ") else []
            # A sentence may name a command alone: that it exists is all that can be checked.
            named = [f"{text} --help" if " " not in text else text for text in INLINE.findall(line)]
            for text in [*found, *named]:
                # Behind two blanks stands what the command is for; brackets and alternatives are a synopsis.
                words = tuple(shlex.split(re.split(r"\s{2,}", text.strip())[0].rstrip("\\ ")))
                if words and words not in seen and not re.search(r"[\[\]{}<>…]|\.\.\.|(?<!\w)\|", " ".join(words)):
                    seen.add(words)
                    yield pytest.param(words, id=f"{page.stem}:{number}")


def parsed(words: tuple[str, ...]) -> None:
    """Parse a command as the command line does, without carrying it out. @raises UserError, click.UsageError"""
    command, name, rest, parent = application(), "dpubench", list(words), None
    while True:
        context = command.make_context(name, rest, parent=parent)
        if not hasattr(command, "resolve_command"):
            return
        found, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        name, parent = str(found), context


@pytest.mark.parametrize("words", list(shown()))
def test_a_documented_command_is_taken(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if words[-1] in ("--help", "--version"):
        assert status(list(words)) == 0
        return
    if words[0] != "run" or any(re.fullmatch(r"(?:\w+=)?[A-Z]+", word) for word in words):  # `STUDY` stands for any
        parsed(words)
        return
    for plan in (word for word in words if word.endswith(".yaml")):
        shutil.copy(studies.plan_path("operators", "quick"), tmp_path / plan)
    (tmp_path / "trace.pcap").touch()
    monkeypatch.chdir(tmp_path)
    if not {"--target", "--against", "cores", "coverage", "--count"} & set(words):
        # Neither another machine, nor another build, nor a bundle for Arm, which takes minutes to compile.
        monkeypatch.setenv("DPUBENCH_PROGRAMS", str(PROGRAM.parent))
        assert status([*words, "--dry-run"]) == 0
        return
    taken: list[tuple[object, ...]] = []

    def start(*given: object) -> int:
        taken.append(given)
        return 0

    monkeypatch.setattr(session, "start", start)
    saved = anchors.Anchor("default", "2026-01-01T00:00:00Z", "0.1.0", "x86_64", "0123456", "gcc", "a CPU", "0" * 64, 1)
    monkeypatch.setattr(anchors, "find", lambda _name: saved)
    assert status(list(words)) == 0 and len(taken) == 1


def test_the_pages_show_commands() -> None:
    """A pattern that no longer matches would let every command through."""
    found = [words.values[0] for words in shown()]
    assert len(found) > 60 and {words[0] for words in found} >= {"run", "resume", "compare", "report", "target", "anchor", "bundle", "query"}
