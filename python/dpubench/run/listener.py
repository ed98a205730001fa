"""The observer of a run."""

from __future__ import annotations

from dpubench.storage.runs import Event


class Listener:
    """The observer of a run: the progress display, or nobody."""

    def event(self, event: Event) -> None:
        """Take an event of a worker."""

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        """Take the start of a round with ``windows`` expected windows; None for ``seconds_left`` means that there is no time limit."""

    def note(self, text: str) -> None:
        """Take a message that a person should read now."""
