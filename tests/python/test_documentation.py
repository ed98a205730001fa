"""Tests of the documentation: no dead link, every page in the site's navigation, and a reference that is made of what it describes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench import studies

sys.path.insert(0, str(ROOT / "scripts"))
import reference

import docs as site

PAGES = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def without_code(text: str) -> str:
    """Return a page without code blocks and words between backticks, which hold no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`x`", re.sub(r"^ {4,}(?![-*\d]).*$", "", text, flags=re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site and public repositories make them."""
    headings = re.findall(
        r"^#+ +(.*?) *$", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_dead_link(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"https?://", target):
            continue  # needs a network
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists() and file.is_relative_to(ROOT), f"{page.name} links to {target}, which is not there"
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}: no such heading"


def test_the_checks_see_links_and_headings() -> None:
    """A pattern that no longer matches would let every link through."""
    found = [t for page in PAGES for t in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8")))]
    assert len(found) > 100 and sum("#" in t for t in found) > 10
    assert {"rounds-the-unit-of-inference", "comparison"} <= anchors(ROOT / "docs/methodology.md")


def test_every_page_is_in_the_navigation_once_and_studies_are_found() -> None:
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} | set(site.OUTSIDE.values())
    listed: list[str] = []

    def collect(entry: object) -> None:
        if isinstance(entry, str):
            listed.append(entry)
        elif isinstance(entry, dict):
            for value in entry.values():
                collect(value)
        elif isinstance(entry, list):
            for value in entry:
                collect(value)

    collect(site.navigation(pages))
    assert sorted(page for page in listed if not page.startswith("reference/")) == sorted(pages)
    assert {studies.find(name).documentation() for name in studies.names()} <= set(listed)
    assert {page for _, section in site.SECTIONS.items() for page in section} <= pages, "a page of the navigation is not there"
    collect(site.navigation({*pages, "new.md"})[-1])
    assert listed[-1] == "new.md"


def test_the_reference_has_every_command_option_and_plan_key() -> None:
    from dpubench.cli import _surface

    commands, plans = reference.commands(), reference.plans()
    for command in _surface.commands():
        assert f"\n## {command.name}\n" in commands and command.usage in commands
        assert all(f"`{p.names[0]}`" in commands for p in command.parameters if p.is_option and p.names[0] != "--help")
    for name in studies.names():
        section = plans.partition(f"\n## Study {name}\n")[2].partition("\n## Study ")[0]
        for key in studies.find(name).plan_model.model_fields:
            assert f"| `{key}` |" in section or f"| `{key}` |" in plans.partition("\n## Study ")[0], (name, key)
        assert all(f"| `{plan}` |" in section for plan in studies.plan_names(name))
    assert "| `precision` | `5%` | half width of the 95 % interval to reach |" in plans


@pytest.mark.usefixtures("real")
def test_the_reference_has_the_catalog_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpubench import catalog
    from real_program import BUILD, PROGRAM

    monkeypatch.setenv("DPUBENCH_PROGRAMS", str(BUILD))
    page = reference.operators()
    for operator, engine in catalog.read_here(PROGRAM).engines():
        section = page.partition(f"\n## {operator['name']}\n")[2].partition("\n## ")[0]
        assert f"| `{engine['name']}` |" in section, (operator["name"], engine["name"])


def test_the_other_pages_of_the_reference_have_their_entries() -> None:
    from dpubench.analysis.warnings import kinds
    from dpubench.simulation import models

    warnings, surroundings = reference.warnings(), reference.surroundings()
    assert all(f"| `{code}` |" in warnings for code in kinds()) and "not-converged" in warnings
    assert all(f"`model:{name}`" in surroundings for name in models.names())


def test_a_page_outside_of_docs_is_linked_as_the_site_has_it() -> None:
    assert site.inside("[a](../CHANGELOG.md) [b](x.md)", "page.md") == "[a](changes.md) [b](x.md)"
    assert site.inside("[a](docs/x.md#y) [b](CONTRIBUTING.md)", "changes.md") == "[a](x.md#y) [b](contributing.md)"
