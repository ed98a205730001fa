"""Standard output and error of every command. Printed text never controls the terminal, and a lost reader ends no measurement.

Text from engines, devices and the files of a run is printed in many places. Therefore :func:`guard` makes the streams safe once, and not each print.
Tables and the progress bar do control the terminal; they go through :func:`console`.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TextIO

from dpubench.errors import EnvironmentFault

if TYPE_CHECKING:
    from rich.console import Console

#: Control characters (ECMA-48 C0 and C1, delete) except tab and line ends; characters that change the direction of writing or end a line (Unicode TR
#: 9, TR 14); halves of surrogate pairs, which cannot be written.
_CONTROLS: Final = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NAMES: Final = {1: "standard output", 2: "standard error"}


def shown(text: str) -> str:
    r"""Return ``text`` with control characters as ``\u001b``, readable for people, and the same text in JSON."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class Unwritable(EnvironmentFault):
    """Standard output cannot be written."""


class Guarded(io.TextIOBase):
    """A standard stream that prints no control characters. It raises :class:`Unwritable`, except for a pipe whose reader went away."""

    def __init__(self, stream: TextIO | None, descriptor: int) -> None:
        self.stream = stream  #: None: it was closed when the program began
        self._descriptor = descriptor
        self.gone = False  #: True once nothing that is printed arrives any more

    def write(self, text: str) -> int:
        try:
            self._open().write(shown(text))
        except OSError as error:
            self._fail(error)
        return len(text)

    def flush(self) -> None:
        if self.stream is None:
            return
        try:
            self.stream.flush()
        except OSError as error:
            self._fail(error)

    def abandon(self) -> None:
        """Discard the buffered text and all that follows, because Python would complain when it flushes at the end."""
        self.gone = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._descriptor)
        os.close(nowhere)

    def isatty(self) -> bool:
        return self.stream is not None and self.stream.isatty()

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property in TextIOBase as well, and None there
        return "utf-8" if self.stream is None else self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return None if self.stream is None else self.stream.errors

    def _open(self) -> TextIO:
        if self.stream is None:
            raise Unwritable(f"{_NAMES[self._descriptor]}: the stream is closed: nothing can be printed")
        return self.stream

    def _fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise error
        raise Unwritable(f"{_NAMES[self._descriptor]}: cannot be written: {error.strerror or error}") from error


def guard() -> None:
    """Make the standard streams safe. Call it once, before anything opens a file.

    Closed descriptors are opened on ``/dev/null``. Otherwise the next opened file would get their number, and a library's output would go into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)  # It gets the lowest free number, which is this one.
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if not isinstance(stream, Guarded):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a locale that lacks a character is no fault
            setattr(sys, name, Guarded(stream, descriptor))


def abandon() -> None:
    """Discard the rest of standard output."""
    if isinstance(sys.stdout, Guarded):
        sys.stdout.abandon()


def tell(text: str, *, to_stderr: bool = False) -> bool:
    """Print a line of a measurement that goes on even if nobody listens. Return whether it could be printed."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None or (isinstance(stream, Guarded) and stream.gone):
        return False
    try:
        print(text, file=stream, flush=True)
    except (OSError, EnvironmentFault, ValueError):  # ValueError comes from a closed stream
        if isinstance(stream, Guarded):
            stream.abandon()
        return False
    return True


def note(text: str) -> None:
    """Print ``dpubench: text`` on standard error, if anybody listens."""
    tell(f"dpubench: {text}", to_stderr=True)


def width() -> int | None:
    """Return the columns of the terminal, or of ``COLUMNS``; None where standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def columns() -> int:
    """Return the columns to wrap prose to; 120 where standard output is a file or a pipe."""
    return shutil.get_terminal_size((120, 24)).columns


def wrapped(text: str) -> list[str]:
    """Break a line between words, with further lines indented. Paths and names stay whole, because users copy them."""
    indent = " " * (len(text) - len(text.lstrip()))
    further = f"{indent}  "
    return textwrap.wrap(text, columns(), subsequent_indent=further, break_long_words=False, break_on_hyphens=False) or [""]


def fitted(text: str) -> str:
    """Wrap the prose of ``text`` to the terminal's width. Lines of tables, which have blanks between columns, stay as they are."""
    most = width()
    if most is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in ([line] if len(line) <= most or "  " in line.strip() else wrapped(line)))


def console(*, to_stderr: bool = False, **options: Any) -> Console:
    """Return a console of Rich on a standard stream, which styles its text and shows control characters."""
    from rich.console import Console
    from rich.segment import Segment

    class Shown(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shown(segment.text), segment.style)

    stream = sys.stderr if to_stderr else sys.stdout
    file: Any = _Raw(stream) if isinstance(stream, Guarded) else stream
    return Shown(file=file, highlight=False, **options)


class _Raw(io.TextIOBase):
    """A guarded stream without its filter."""

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded

    def write(self, text: str) -> int:
        try:
            self._guarded._open().write(text)
        except OSError as error:
            self._guarded._fail(error)
        return len(text)

    def flush(self) -> None:
        self._guarded.flush()

    def isatty(self) -> bool:
        return self._guarded.isatty()

    def fileno(self) -> int:
        return self._guarded.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._guarded.encoding


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, for ``--json``."""
    import json

    print(json.dumps(value, indent=1, ensure_ascii=False))
