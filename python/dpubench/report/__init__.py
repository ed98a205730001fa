"""The report: one offline HTML file made of analysed runs.

The page holds everything it needs (style, script, libraries, data) and asks the network for nothing: a Content-Security-Policy forbids it, and
allows exactly the scripts that were written here, by their hashes. Text from a run directory is data, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

from dpubench.report import model
from dpubench.report.machine import cpu_text
from dpubench.report.page import BEST, Page
from dpubench.report.words import count_text, number, quantity, size_text
from dpubench.results import comparison, warnings
from dpubench.results.model import ENERGY, Comparison, RunSummary

HERE: Final = Path(__file__).parent
#: Loaded by the page when the first figure, or the first PDF, is asked for.
LIBRARIES: Final = {
    "lib-plotly": ("plotly-basic-4.1.1.min.js",),
    "lib-pdf": ("jspdf-4.2.1.min.js", "svg2pdf-2.8.1.min.js"),
}
MIN_EFFECT: Final = 0.03  #: the default of ``dpubench compare --min-effect``

_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def write(runs: list[RunSummary], output: Path, baseline: str | None = None, pairing: str = BEST) -> None:
    """Write the report of ``runs`` to ``output``, replacing it at once.

    ``baseline`` names one of the runs, or its target (default with several: that of their set, else the first); ``pairing`` is what the page shows
    before a reader chooses: the best engine of each side (``best``) or the same engine on both (``same``).

    Raises :class:`ValueError` without runs or with a baseline that is not among them, :class:`OSError` if ``output`` cannot be written.
    """
    page = model.build(runs, baseline, compare_best, warnings.advice, compare_builds, compare_same, pairing)
    text = render(page)
    scratch = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(output)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def compare_best(baseline: RunSummary, run: RunSummary) -> list[Comparison]:
    """The best engine of each configuration in ``run`` against the best in ``baseline``."""
    return comparison.compare(baseline, run, MIN_EFFECT, best_engine=True)


def compare_same(baseline: RunSummary, run: RunSummary) -> list[Comparison]:
    """Each engine of ``run`` against the same engine in ``baseline``."""
    return comparison.compare(baseline, run, MIN_EFFECT)


def compare_builds(run: RunSummary) -> list[Comparison]:
    """The two builds that alternated in ``run``; empty for an ordinary run."""
    return comparison.compare_builds(run, MIN_EFFECT)


def render(page: Page) -> str:
    """The page as HTML."""
    script = _inlined((HERE / "report.js").read_text(encoding="utf-8"))
    libraries = {name: _library(name) for name in LIBRARIES}
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (script, *libraries.values()))
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            policy=policy,
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            script=script,
            libraries=libraries,
            data=embedded_json(page.data),
            energy=ENERGY,
        )
    )


def embedded_json(value: Any) -> str:
    """``value`` as JSON that cannot end the script element it stands in, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _library(name: str) -> str:
    return _inlined("\n;".join((HERE / "vendor" / file).read_text(encoding="utf-8") for file in LIBRARIES[name]))


def _inlined(script: str) -> str:
    """``script`` as it may stand between script tags.

    ``</script`` and ``<!--`` occur in strings only, where a backslash changes nothing. References to source maps are removed: developer tools
    would fetch them.
    """
    return _SOURCE_MAP.sub("", script).replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n").replace("\r", "\n")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(q=quantity, number=number, counted=count_text, size=size_text, cpu=cpu_text)
    environment.globals.update(log_position=log_position, ratio_bar=ratio_bar)
    return environment


def log_position(value: float, limits: tuple[float, float]) -> float:
    """Where ``value`` lies between ``limits`` on a logarithmic axis, in 0..1, clamped."""
    low, high = (math.log(limit) for limit in limits)
    return min(1.0, max(0.0, (math.log(value) - low) / (high - low))) if value > 0 else 0.0


def ratio_bar(low: float, high: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Left end and width of an interval on the same axis."""
    left = log_position(low, limits)
    return left, log_position(high, limits) - left
