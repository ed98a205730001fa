"""The manual page, made from the command line itself (:mod:`dpubench.cli._surface`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dpubench import __version__
from dpubench.cli._surface import Command, Parameter
from dpubench.errors import Exit

ENVIRONMENT: Final = (
    ("DPUBENCH_RESULTS", "Folder of the runs, in place of ./results."),
    ("DPUBENCH_PROGRAMS", "Folder of the native programs, in place of this installation's."),
    ("DPUBENCH_AARCH64_BUNDLE", "Bundle with the programs for 64-bit Arm that traces are captured from."),
    ("DPUBENCH_SSH_CONFIG", "Configuration of ssh, in place of the user's."),
    ("XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME", "Bases of the folders of prepared inputs and bundles, of named targets, and of anchors."),
)
STATUS: Final = {
    Exit.DONE: "Done.", Exit.FAILED: "Something failed or disagreed.", Exit.USAGE: "Usage.", Exit.REGRESSION: "A regression was found.",
    Exit.NOTHING_RAN: "Nothing could run.", Exit.INTERRUPTED: "Interrupted; `dpubench resume` continues.",
}  # fmt: skip


def page(commands: Sequence[Command]) -> str:
    """Return the page in the language of man(7)."""
    root, *others = commands
    lines = [
        f'.TH DPUBENCH 1 "" "dpubench {__version__}" "User Commands"',
        ".SH NAME", r"dpubench \- benchmark suite for DPUs and SmartNICs",
        ".SH SYNOPSIS", r".B dpubench", r".I COMMAND", r"[\fIOPTION\fR]... [\fIARGUMENT\fR]...",
        ".SH DESCRIPTION", *_prose(root.help),
        ".PP", *_prose("Without arguments, `dpubench run` measures every operator on this machine and writes a report. See EXAMPLES."),
        ".SH COMMANDS",
    ]  # fmt: skip
    for command in others:
        lines += [f".SS {_text(command.usage)}", *_prose(command.help)]
        for parameter in command.parameters:
            if parameter.names[0] != "--help" and parameter.help:
                lines += _described(parameter)
    lines += [".SH OPTIONS", *(line for p in root.parameters for line in _described(p))]
    lines += [".SH EXIT STATUS"]
    for status, meaning in STATUS.items():
        lines += [".TP", f"{int(status)}", *_prose(meaning)]
    lines += [".SH ENVIRONMENT"]
    for name, meaning in ENVIRONMENT:
        lines += [".TP", f".B {_text(name)}", *_prose(meaning)]
    lines += [".SH EXAMPLES"]
    for words, meaning in (
        ("dpubench doctor", "What helps or harms a measurement on this machine."),
        ("dpubench run --budget 30s", "Every operator, in half a minute."),
        ("dpubench run --operator aes,crc --size 64B,1KiB --threads 1,all", "Two operators at two sizes, with one thread and with all."),
        ("dpubench run --target local --target bf2", "Host and device in turns; `dpubench target add` names a device."),
        ("dpubench compare A B --fail-on regression", "Two runs; the exit status is 3 if one is slower."),
    ):
        lines += [".TP", f".B {_text(words)}", *_prose(meaning)]
    return "\n".join(lines) + "\n"


def _described(parameter: Parameter) -> list[str]:
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in parameter.names) if parameter.is_option else rf"\fI{_text(parameter.names[0])}\fR"
    value = rf" \fI{_text(parameter.value)}\fR" if parameter.is_option and parameter.takes_value else ""
    return [".TP", names + value, *_prose(parameter.help)]


def _prose(text: str) -> list[str]:
    """Return paragraphs of help; what stands between backticks is set in bold."""
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    lines = [re.sub(r"`([^`]+)`", r"\\fB\1\\fR", _text(part)) for part in parts if part]
    return [word for i, line in enumerate(lines) for word in ([".PP"] if i else []) + [line]]


def _text(text: str) -> str:
    """Return ``text`` so that roff sets it as it stands: with hyphens that can be copied, and no line that begins a request."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
