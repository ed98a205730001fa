"""The frame around the pages of all studies: one offline HTML file with its policy and its libraries.

A page holds all it needs (style, script, libraries, data) and loads nothing from the network. A Content-Security-Policy forbids loading, and allows
only the scripts written here, by their hashes. Text from a run directory is data, never markup.
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

from dpubench.analysis.naming import size_text
from dpubench.report.machine import cpu_text
from dpubench.report.words import count_text, number, quantity

HERE: Final = Path(__file__).parent
#: Libraries that a page loads for the first figure, or for the first PDF.
LIBRARIES: Final = {
    "lib-plotly": ("plotly-basic-4.1.1.min.js",),
    "lib-pdf": ("jspdf-4.2.1.min.js", "svg2pdf-2.8.1.min.js"),
}

_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def render(
    page: Any, version: str, folder: Path, filters: Mapping[str, Callable[..., Any]] | None = None, shared: Path | None = None, **more: Any
) -> str:  # fmt: skip
    """Return ``page`` as HTML, from the template ``report.html.j2`` of ``folder``, which extends ``frame.html.j2``.

    The script is ``common.js`` and then the folder's ``report.js``. The style is ``report.css`` and then that of the folder, if it has one.
    ``shared`` holds the parts that some studies share: scripts and styles of any name, which come between, and templates. ``page`` has ``title``,
    ``measured`` (the headline) and ``data`` (JSON-safe values). The template gets ``page`` and ``more``. ``filters`` are the folder's.
    """
    between = sorted(shared.iterdir()) if shared is not None else []
    scripts = (HERE / "common.js", *(file for file in between if file.suffix == ".js"), folder / "report.js")
    script = _inlined("\n".join(file.read_text(encoding="utf-8") for file in scripts))
    styles = (HERE / "report.css", *(file for file in between if file.suffix == ".css"), *folder.glob("report.css"))
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
    """Write a page to ``output``, replacing the file atomically. Raises :class:`OSError` if this fails; the former file is kept then."""
    scratch = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(output)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def embedded_json(value: Any) -> str:
    """Return ``value`` as JSON that cannot end its script element, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _library(name: str) -> str:
    return _inlined("\n;".join((HERE / "vendor" / file).read_text(encoding="utf-8") for file in LIBRARIES[name]))


def _inlined(script: str) -> str:
    """Return ``script`` in a form that can stand between script tags.

    ``</script`` and ``<!--`` occur in strings only, where a backslash changes nothing. References to source maps are removed, because developer
    tools would fetch them.
    """
    return _SOURCE_MAP.sub("", script).replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n").replace("\r", "\n")


def sha256(text: str) -> str:
    """Return the hash of a script in the form that a policy needs."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment(folder: Path, shared: Path | None) -> jinja2.Environment:
    """Return the environment that searches ``folder`` first, then ``shared``, then the templates of all studies.

    A folder's ``report.html.j2`` is thus its own.
    """
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
    """Return the position of ``value`` between ``limits`` on a logarithmic axis, in 0..1, clamped."""
    low, high = (math.log(limit) for limit in limits)
    return min(1.0, max(0.0, (math.log(value) - low) / (high - low))) if value > 0 else 0.0


def ratio_bar(low: float, high: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return left end and width of an interval on the same axis."""
    left = log_position(low, limits)
    return left, log_position(high, limits) - left
