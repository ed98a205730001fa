"""Reads pages, and plants text that must stay text."""

from __future__ import annotations

from html.parser import HTMLParser

from dpubench.analysis.model import Warning_
from dpubench.studies.operators.model import PointSummary, RunSummary

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</style>\u2028]]>"


class Elements(HTMLParser):
    """A parser that collects every start tag with its attributes, and the text of script elements by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or "own"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def poison(run: RunSummary) -> RunSummary:
    """Change a run so that every text tries to become markup; return it."""
    run.name, run.path, run.command, run.version, run.plan, run.study = (EVIL,) * 6
    run.machine = {"cpu": EVIL, EVIL: EVIL, "energy": {EVIL: [EVIL]}}
    run.build_info = {"revision": EVIL, EVIL: EVIL}
    run.inputs = {EVIL: {"name": EVIL, "sha256": EVIL}}
    run.left_out = [EVIL]
    run.warnings.append(Warning_("canary-moved", EVIL, EVIL, EVIL))
    changed: list[PointSummary] = []
    for p in run.points:
        p.params[EVIL] = EVIL
        p.input_name = p.footprint = p.target = p.build = EVIL
        p.engine += EVIL
        p.path = {"isa": EVIL, "library": EVIL}
        p.verified = {"known_answers": EVIL, "compared": EVIL, "how": EVIL}
        p.primary_unit = p.cycles_source = EVIL
        p.failure = p.failure and EVIL
        p.unavailable = p.unavailable and EVIL
        changed.append(p)
    for entry in run.operators.values():
        entry["summary"] = EVIL
        entry["scenarios"] = [EVIL]
    return run
