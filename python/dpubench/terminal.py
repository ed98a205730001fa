"""Standard output and error of every command: nothing that is printed controls the terminal, and a reader that goes away ends no measurement.

What engines, devices and the files of a run say is printed in many places. So it is the streams that are made safe (:func:`guard`), once, and not
each print. Tables and the progress bar, which do control the terminal, go through :func:`console`.
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

#: Control characters (ECMA-48 C0 and C1, delete) but tab and line ends; what turns the direction of writing or ends a line (Unicode TR 9, TR 14);
#: halves of surrogate pairs, which cannot be written.
_CONTROLS: Final = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NAMES: Final = {1: "standard output", 2: "standard error"}


def shown(text: str) -> str:
    r"""``text`` with control characters written out as ``\u001b``: for people, and in JSON still the same text."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class Unwritable(EnvironmentFault):
    """Standard output cannot be written."""


class Guarded(io.TextIOBase):
    """A standard stream that prints no control characters. Its faults are :class:`Unwritable`, but for a pipe whose reader went away."""

    def __init__(self, stream: TextIO | None, descriptor: int) -> None:
        self.stream = stream  #: None: it was closed when the program began
        self._descriptor = descriptor
        self.gone = False  #: nothing of what is printed arrives

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
        """Sends what is still kept, and all that follows, nowhere: Python would complain when it flushes at the end."""
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
            raise Unwritable(f"{_NAMES[self._descriptor]}: is closed: nothing can be printed there")
        return self.stream

    def _fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise error
        raise Unwritable(f"{_NAMES[self._descriptor]}: cannot be written: {error.strerror or error}") from error


def guard() -> None:
    """Makes the standard streams safe. To be called once, before anything opens a file.

    Descriptors that are closed are opened on ``/dev/null``: the next file that is opened would take their number, and what a library prints would go
    into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)  # the lowest free number, which is this one
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if not isinstance(stream, Guarded):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a locale that lacks a character is no fault
            setattr(sys, name, Guarded(stream, descriptor))


def abandon() -> None:
    """Sends what is still to be printed on standard output nowhere."""
    if isinstance(sys.stdout, Guarded):
        sys.stdout.abandon()


def tell(text: str, *, to_stderr: bool = False) -> bool:
    """Prints a line of a measurement, which goes on whether anybody listens. Whether it could be printed."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None or (isinstance(stream, Guarded) and stream.gone):
        return False
    try:
        print(text, file=stream, flush=True)
    except (OSError, EnvironmentFault, ValueError):  # ValueError: of a stream that was closed
        if isinstance(stream, Guarded):
            stream.abandon()
        return False
    return True


def note(text: str) -> None:
    """Prints ``dpubench: text`` on standard error, if anybody listens."""
    tell(f"dpubench: {text}", to_stderr=True)


def width() -> int | None:
    """Return the columns of the terminal, or of ``COLUMNS``; None where standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def columns() -> int:
    """Return the columns to wrap prose to; 120 where standard output is a file or a pipe."""
    return shutil.get_terminal_size((120, 24)).columns


def wrapped(text: str) -> list[str]:
    """Break a line between words, further lines set in. Paths and names are copied from them, and stay whole."""
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
    """A console of Rich on a standard stream, which styles what is printed and shows its control characters."""
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
    """A guarded stream past its filter."""

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
