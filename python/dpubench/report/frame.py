"""The frame that the pages of all studies stand in: one offline HTML file, its policy, its libraries.

A page holds everything it needs (style, script, libraries, data) and asks the network for nothing: a Content-Security-Policy forbids it, and allows
exactly the scripts that were written here, by their hashes. Text from a run directory is data, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

from dpubench.report.machine import cpu_text
from dpubench.report.words import count_text, number, quantity
from dpubench.results.naming import size_text

HERE: Final = Path(__file__).parent
#: Loaded by a page when the first figure, or the first PDF, is asked for.
LIBRARIES: Final = {
    "lib-plotly": ("plotly-basic-4.1.1.min.js",),
    "lib-pdf": ("jspdf-4.2.1.min.js", "svg2pdf-2.8.1.min.js"),
}

_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def render(
    page: Any, version: str, folder: Path = HERE, filters: Mapping[str, Callable[..., Any]] | None = None, shared: Path | None = None, **more: Any
) -> str:  # fmt: skip
    """``page`` as HTML by the template ``report.html.j2`` of ``folder``, which extends ``frame.html.j2``.

    The script is ``common.js`` and then the folder's ``report.js``, the style ``report.css`` and then that of a folder of its own. What some studies
    share lies in ``shared``: scripts and styles of any name that come between, and templates. ``page`` has ``title``, ``measured`` (the headline) and
    ``data`` (JSON-safe values); the template gets it, and ``more``; ``filters`` are those of the folder.
    """
    between = sorted(shared.iterdir()) if shared is not None else []
    scripts = (HERE / "common.js", *(file for file in between if file.suffix == ".js"), folder / "report.js")
    script = _inlined("\n".join(file.read_text(encoding="utf-8") for file in scripts))
    styles = dict.fromkeys((HERE / "report.css", *(file for file in between if file.suffix == ".css"), folder / "report.css"))
    libraries = {name: _library(name) for name in LIBRARIES}
    hashes = " ".join(f"'sha256-{sha256(text)}'" for text in (script, *libraries.values()))
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    environment = _environment(folder, shared)
    environment.filters.update(filters or {})
    return environment.get_template("report.html.j2").render(
        page=page,
        version=version,
        policy=policy,
        style="\n".join(file.read_text(encoding="utf-8") for file in styles),
        script=script,
        libraries=libraries,
        data=embedded_json(page.data),
        **more,
    )


def save(text: str, output: Path) -> None:
    """Writes a page to ``output``, replacing it at once. Raises :class:`OSError` if it cannot be written; what was there is kept then."""
    scratch = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(output)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


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


def sha256(text: str) -> str:
    """The hash of a script as a policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment(folder: Path, shared: Path | None) -> jinja2.Environment:
    """Templates of ``folder`` first, then those of ``shared``, then those of all studies; a folder's ``report.html.j2`` is thus its own."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(list(dict.fromkeys(place for place in (folder, shared, HERE) if place is not None))),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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
