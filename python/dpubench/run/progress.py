"""Displays of a run in progress: a bar with the time left, plain lines without a terminal, or events with ``--json``."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import Any, Final, NamedTuple

from dpubench import terminal
from dpubench.analysis.digits import percent
from dpubench.plans.quantities import spoken
from dpubench.run.listener import Listener
from dpubench.storage.runs import Event


class Lines(Listener):
    """Plain lines on standard error, for logs and pipes."""

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        self._say(text if seconds_left is None else f"{text}; at most {spoken(seconds_left)} left")

    def note(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        terminal.note(text)


class JsonEvents(Lines):
    """Every event of the contract as a line on standard output; ``stage`` and ``note`` become events too."""

    def event(self, event: Event) -> None:
        self.emit({k: v for k, v in event.items() if k != "catalog"})

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        self.emit({"event": "stage", "text": text, "windows": windows, "seconds_left": None if seconds_left is None else round(seconds_left, 1)})

    def note(self, text: str) -> None:
        self.emit({"event": "note", "text": text})

    def emit(self, event: dict[str, Any]) -> bool:
        """Print an event. Return whether it and all before it could be printed."""
        return terminal.tell(json.dumps(event, separators=(",", ":"), ensure_ascii=False))


class Trial:
    """The rate and loss of the trial under way, from the events that its client sends during it."""

    def __init__(self) -> None:
        self._before: tuple[float, int, int] | None = None
        self.text = ""

    def see(self, event: Event) -> None:
        """Record an event of a client."""
        if event["event"] == "begun":
            self._before = None
        elif event["event"] == "progress" and "sent" in event and "received" in event:
            now = (float(event["done"]), int(event["sent"]), int(event["received"]))
            before = self._before if self._before is not None and self._before[0] < now[0] else (0.0, 0, 0)
            self._before = now
            self._tell(now[1] - before[1], now[2] - before[2], now[0] - before[0])
        elif event["event"] == "trial" and "due" in event:
            self._tell(int(event["due"]), int(event["received"]), float(event["duration_s"]))

    def _tell(self, offered: int, received: int, seconds: float) -> None:
        if seconds > 0 and offered > 0:
            # Packets under way are not lost: during a trial the share is an upper bound.
            self.text = f"{received / seconds / 1e6:.3g} Mpps, loss {percent(max(offered - received, 0) / offered, 2)}"


#: Columns of the bar, at least and at most.
_BAR: Final = (8, 30)
#: A shorter place or rate says nothing.
_POINT_COLUMNS: Final = 10


class Shares(NamedTuple):
    """The parts of the line of a run in progress, in columns of the terminal; a blank stands between two of them."""

    text: str
    bar: int
    point: str


def shares(width: int, text: str, left: str, point: str) -> Shares:
    """Return the stage's text, the bar and the point at work, cut so that they fit ``width`` together with the time left, which is never cut."""
    room = width - len(left) - 3
    text = _cut(text, max(room - _BAR[0], 1))
    bar = max(min(_BAR[1], room - len(text)), 1)
    rest = room - len(text) - bar
    return Shares(text, bar, _cut(point, rest) if rest >= _POINT_COLUMNS or len(point) <= rest else "")


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"


class Bar(Lines):
    """A live bar on the terminal, on one line."""

    def __enter__(self) -> Bar:
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = terminal.console(to_stderr=True)
        self._bar = BarColumn(bar_width=_BAR[1])
        self._progress = Progress(
            TextColumn("{task.description}", markup=False), self._bar, TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[point]}", style="dim", markup=False),
            console=self._console, transient=True,
        )  # fmt: skip
        self._progress.start()
        self._task = self._progress.add_task("starting", total=None, left="", point="")
        self._text = "starting"
        self._until: float | None = None
        self._shown = 0.0
        self._windows = 0
        self._trial = Trial()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        self._until = None if seconds_left is None else time.monotonic() + seconds_left
        self._windows = 0
        self._text = text
        self._progress.update(self._task, total=windows)
        self._show("")

    def event(self, event: Event) -> None:
        if event["event"] == "window" and not event["point"].startswith("canary-"):
            self._windows += 1
        elif event["event"] == "trial" and "configuration" in event:  # a judged trial, as the record keeps it
            self._windows += event["attempt"] == 0 and event["load"] not in ("NDR", "PDR")
        elif event["event"] in ("found", "traced", "outcome"):
            self._windows += 1
        else:
            self._trial.see(event)
        now = time.monotonic()
        if now - self._shown >= 0.2:  # The display must not compete with the measurement.
            self._shown = now
            self._show(self._trial.text or str(event.get("group", "")))

    def _show(self, point: str) -> None:
        left = "" if self._until is None else f"at most {spoken(self._until - time.monotonic())} left"
        fitted = shares(self._console.width, self._text, left, point)
        self._bar.bar_width = fitted.bar
        self._progress.update(self._task, completed=self._windows, description=fitted.text, left=left, point=fitted.point)

    def note(self, text: str) -> None:
        self._progress.console.print(text, markup=False)


def listener(as_json: bool) -> Lines:
    """Return the display that fits the output."""
    if as_json:
        return JsonEvents()
    return Bar() if sys.stderr.isatty() else Lines()
