"""Tests of printed text: no control character from engines, devices or files reaches the terminal; readers may go away; print errors are reported."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
from collections.abc import Sequence

import pytest
from conftest import Bench
from dpubench import terminal
from dpubench.analysis import formats

#: Text that sets a title, clears the screen, moves the cursor (7 and 8 bit), deletes, reverses the writing direction, ends a line.
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1A\x7f\r\u202e\u2028"
CONTROLS = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2028]")
QUICK = ("--rounds", "2", "--operator", "crc", "--name", "r")

COMMANDS: Sequence[Sequence[str]] = (
    ("list", "engines"), ("list", "operators"), ("describe", "crc"), ("describe", "crc", "--json"), ("run", *QUICK[2:4], "--dry-run"),
    ("show", "r"), ("show", "r", "--json"), ("show", "r", "--csv"), ("compare", "r", "r"), ("compare", "r", "r", "--csv"),
    ("export", "r", "--csv"), ("export", "r", "--latex"), ("export", "r", "--json"), ("query", "SELECT * FROM points"),
    ("query", "SELECT * FROM points", "--csv"), ("query", "SELECT * FROM points", "--json"), ("resume", "r"),
)  # fmt: skip


def test_control_characters_are_written_out() -> None:
    assert terminal.shown("a\tb\n\x1b[31m\x9b\x7f\ud800ä") == "a\tb\n\\u001b[31m\\u009b\\u007f\\ud800ä"
    assert json.loads(terminal.shown(json.dumps({"a": HOSTILE}, ensure_ascii=False))) == {"a": HOSTILE}


def test_what_engines_say_controls_no_terminal(bench: Bench) -> None:
    bench.script(told=HOSTILE, faults=[{"point": "isal", "phase": "verify", "kind": "failure"}], unavailable={"gpu": "no device"})
    ran = bench("run", *QUICK)
    assert ran.returncode == 1, ran.stderr
    seen = ran.stdout + ran.stderr
    assert "\\u001b]0;owned" in seen
    for command in COMMANDS:
        done = bench(*command)
        assert "Traceback" not in done.stderr and done.stdout + done.stderr, command
        seen = done.stdout + done.stderr
        assert not CONTROLS.search(seen), (command, CONTROLS.search(seen))
    assert not CONTROLS.search(ran.stdout + ran.stderr)


def test_a_terminal_gets_no_more(bench: Bench) -> None:
    """On a terminal, tables and the bar have styles. Texts have no styles of their own."""
    bench.script(told=HOSTILE, faults=[{"point": "isal", "phase": "verify", "kind": "failure"}])
    bench.environment["TERM"] = "xterm"
    for command in (("run", *QUICK), ("list", "engines")):
        text = on_a_terminal(bench, command)
        assert "\\u001b]0;owned" in text, text[-500:]
        assert "\x1b[" in text, "styles"
        assert "\x1b]0;" not in text and "\x9b" not in text and "\x1b[2J" not in text


def on_a_terminal(bench: Bench, command: Sequence[str]) -> str:
    """Return what ``command`` prints with both its streams on a terminal."""
    master, slave = os.openpty()
    seen = b""
    with bench.start(*command, stdout=slave, stderr=slave) as process:
        os.close(slave)
        with contextlib.suppress(OSError):  # the other side is closed
            while got := os.read(master, 65536):
                seen += got
        process.wait()
    os.close(master)
    return seen.decode("utf-8", "replace")


def test_tables_for_others_are_texts() -> None:
    rows = list(csv.reader(io.StringIO(formats.csv_of([{"a": "=cmd|' /C calc'!A0", "b": -1.5, "c": "@SUM(1)", "d": "-", "e": "x\x1b[2J"}]))))
    assert rows[1] == ["'=cmd|' /C calc'!A0", "-1.5", "'@SUM(1)", "-", "x\\u001b[2J"]
    assert formats.latex_comment("a\nb\r\\input{/etc/passwd}\u2028c") == "% a b\\u000d\\input{/etc/passwd}\\u2028c"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_goes_away_ends_no_measurement(bench: Bench, more: Sequence[str]) -> None:
    with bench.start("run", *QUICK, *more) as process:
        assert process.stdout is not None and process.stderr is not None
        (process.stdout if more else process.stderr).readline()
        process.stdout.close()
        said = process.stderr.read() if more else ""
        process.stderr.close()
        assert process.wait(60) == 0
    assert bench.record("r")["status"] == "complete"
    assert not more or "the run went on to its end" in said


@pytest.mark.parametrize("words", ["2>/dev/full", ">/dev/full", ">/dev/full 2>/dev/full", "2>&-", ">&-", ">&- 2>&- <&-"])
def test_a_run_needs_no_reader(bench: Bench, words: str) -> None:
    with bench.start("run", *QUICK, prefix=("sh", "-c", f'exec "$@" {words}', "sh")) as process:
        out, err = process.communicate(timeout=90)
    assert process.returncode == 0, (out, err)
    assert bench.record("r")["status"] == "complete"
    if words.startswith(">") and "2>" not in words:
        assert "the run went on to its end all the same: `dpubench show r`" in err
    if words.startswith("2>"):
        assert "next: dpubench show r" in out


@pytest.mark.parametrize(("words", "reason"), [(">/dev/full", "No space left on device"), (">&-", "the stream is closed")])
def test_what_cannot_be_printed_is_an_error(bench: Bench, words: str, reason: str) -> None:
    with bench.start("list", "engines", prefix=("sh", "-c", f'exec "$@" {words}', "sh")) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    assert "dpubench: standard output: " in err and reason in err and "Traceback" not in err and "bug" not in err
    assert len(err.splitlines()) == 1, err


@pytest.mark.parametrize(
    "words", [("list", "studies"), ("list", "engines"), ("list", "plans"), ("list", "inputs"), ("describe", "crc"), ("show", "r")]
)
@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_terminal_breaks_no_word(bench: Bench, words: tuple[str, ...], columns: int) -> None:
    assert bench("run", "--name", "r", "--rounds", "1", "--operator", "crc").returncode == 0
    bench.environment["COLUMNS"] = "1000"
    wide = bench(*words)
    bench.environment["COLUMNS"] = str(columns)
    narrow = bench(*words)
    assert wide.returncode == narrow.returncode == 0, narrow.stderr
    titles = set(wide.stdout.split("\n", 1)[0].split())  # titles of columns; where each row is a block, titles stand before their cells
    whole = {word.removesuffix(":") for word in narrow.stdout.split()}
    assert {word.removesuffix(":") for word in wide.stdout.split()} - whole <= titles
    # A table of figures stays as it is. Prose fits, except for words that are longer than a line.
    prose = [line for line in narrow.stdout.splitlines() if "  " not in line.strip() and len(line.split()) > 2]
    assert [line for line in prose if len(line) > columns] == []
