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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

from dpubench.analysis.naming import size_text
from dpubench.report.machine import cpu_text
from dpubench.report.words import anchor, count_text, number, quantity

#: Style of notes and tables: what is wider than the window scrolls, with a shade at the edge that hides something.
TABLES: Final = "tables.css"
HERE: Final = Path(__file__).parent
#: Libraries that a page loads for the first figure, or for the first PDF.
LIBRARIES: Final = {
    "lib-plotly": ("plotly-basic-4.1.1.min.js",),
    "lib-pdf": ("jspdf-4.2.1.min.js", "svg2pdf-2.8.1.min.js"),
}

_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
#: An attribute of a template's element that holds an id or refers to one. Text from runs cannot look like one: its quotation marks are escaped.
_ID: Final = re.compile(r'(?<= )(id="|href="#|for="|aria-labelledby="|aria-describedby=")(?=[a-z])')


@dataclass(frozen=True)
class Section:
    """What a page shows of one study: the whole page, or a section of it beside other studies.

    The template is ``report.html.j2`` of ``folder``, which extends ``layout``. It gets ``page``, ``body`` (the name of its outermost element) and
    ``more``. ``page`` has ``title``, ``measured`` (the headline), ``all_runs`` and ``data`` (JSON-safe values). The script is ``report.js`` of the
    folder, and the style its ``report.css``, if it has one.
    """

    study: str
    page: Any
    folder: Path
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    shared: Path | None = None  #: folder of parts that some studies share: templates, and scripts and styles of any name
    more: Mapping[str, Any] = field(default_factory=dict)
    styles: Sequence[str] = ()  #: names of styles of this package that the section needs beside ``report.css``

    @property
    def anchor(self) -> str:
        """Return the id of the section among others, with which its ids begin there."""
        return anchor("study", self.study)

    def files(self, suffix: str) -> list[Path]:
        """Return the scripts (``.js``) or styles (``.css``), those that studies share first."""
        common = [HERE / name for name in self.styles if name.endswith(suffix)]
        between = sorted(self.shared.glob(f"*{suffix}")) if self.shared is not None else []
        return [*common, *between, *self.folder.glob(f"report{suffix}")]

    def html(self, layout: str, body: str, **more: Any) -> str:
        """Return the study's template within ``layout``."""
        environment = _environment(self.folder, self.shared)
        environment.filters.update(self.filters)
        return environment.get_template("report.html.j2").render(page=self.page, layout=layout, body=body, study=self.study, **self.more, **more)


def write(sections: Sequence[Section], output: Path) -> None:
    """Write a page of ``sections``, one for each study, to ``output``, replacing the file atomically. @raises OSError"""
    save(render(sections), output)


def render(sections: Sequence[Section]) -> str:
    """Return a page of ``sections``, one for each study, as HTML."""
    scripts = [HERE / "common.js", *(file for section in sections for file in section.files(".js"))]
    script = _inlined("\n".join(file.read_text(encoding="utf-8") for file in dict.fromkeys(scripts)))
    libraries = {name: _library(name) for name in LIBRARIES}
    hashes = " ".join(f"'sha256-{sha256(text)}'" for text in (script, *libraries.values()))
    frame = {
        "version": sections[0].page.all_runs[0].version, "script": script, "libraries": libraries,
        "policy": f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'",
    }  # fmt: skip
    common = (HERE / "report.css").read_text(encoding="utf-8")
    if len(sections) == 1:
        return sections[0].html("frame.html.j2", "main", style=f"{common}\n{_style(sections[0])}", data=embedded_json(sections[0].page.data), **frame)
    shown = [
        {
            "study": section.study, "anchor": section.anchor, "data": embedded_json(section.page.data),
            "nav": _apart(section.html("nav.html.j2", "div"), section.anchor), "body": _apart(section.html("section.html.j2", "div"), section.anchor),
        }
        for section in sections
    ]  # fmt: skip
    ids = {name for entry in shown for name in re.findall(rf' id="{entry["anchor"]}-([a-z][\w-]*)"', entry["body"])}
    styles = [_everywhere(common, ids), *(f":where(#{section.anchor}) {{\n{_style(section)}\n}}" for section in sections)]
    names = [section.study for section in sections]
    page = {"title": f"dpubench: {', '.join(names)}", "measured": f"Studies {', '.join(names[:-1])} and {names[-1]}"}
    return _environment(HERE, None).get_template("several.html.j2").render(page=page, sections=shown, study="", style="\n".join(styles), **frame)


def _style(section: Section) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in section.files(".css"))


def _apart(html: str, prefix: str) -> str:
    """Return a part of a page whose ids, and what refers to them, begin with ``prefix``: pages of several studies have the same ids."""
    return _ID.sub(lambda match: f"{match[1]}{prefix}-", html)


def _everywhere(style: str, ids: Collection[str]) -> str:
    """Return ``style`` with rules for elements called ``ids`` valid for elements with a prefix before their id, too."""
    pattern = re.compile(rf"#({'|'.join(sorted(map(re.escape, ids), key=len, reverse=True))})(?![\w-])")
    return pattern.sub(lambda match: f':is(#{match[1]}, [id$="-{match[1]}"])', style)


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
