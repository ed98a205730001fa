"""Prepare the site of the documentation in a folder: `docs.py FOLDER`. MkDocs then builds it (`make docs`).

The pages are those of docs/, where they can also be read as they are. The reference is made from the programs (reference.py). The navigation is by
task; the pages of studies are found by the list of studies.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import reference
from dpubench import __version__, studies

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
#: Pages outside of docs/ that the site has, and their names in it.
OUTSIDE: Final = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
#: Section of the navigation -> pages. Those of studies are added, and what is nowhere comes last.
SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "How to": (
        "install.md", "choose-a-study.md", "targets.md", "own-input.md", "continuous-integration.md", "use-results.md", "troubleshooting.md",
    ),
    "Studies": (),
    "Explanation": ("methodology.md", "report.md", "cores.md", "applications.md", "benchmarks.md"),
    "Development": (
        "contributing.md", "architecture.md", "adding-an-operator.md", "adding-an-engine.md", "adding-a-study.md", "tools.md", "link-program.md",
    ),
    "About": ("changes.md", "security.md"),
}  # fmt: skip


def navigation(pages: set[str]) -> list[Any]:
    """Return the navigation of a site of ``pages``: every page once."""
    sections = dict(SECTIONS) | {"Studies": tuple(studies.find(name).documentation() for name in _ordered(studies.names()))}
    listed = {"index.md", "tutorial.md", *(page for section in sections.values() for page in section)}
    made: list[Any] = [{"Home": "index.md"}, {"Tutorial": "tutorial.md"}]
    for title, section in sections.items():
        made.append({title: [page for page in dict.fromkeys(section) if page in pages]})
        if title == "Studies":
            made.append({"Reference": [{name: f"reference/{page}"} for page, (name, _) in reference.PAGES.items()]})
    rest = sorted(page for page in pages - listed if not page.startswith("reference/"))
    return [*made, {"More": rest}] if rest else made


def _ordered(names: list[str]) -> list[str]:
    """Return the studies with ``operators``, which most users run first, before the others."""
    return sorted(names, key=lambda name: name != "operators")


def configuration(pages: set[str], site: Path) -> dict[str, Any]:
    """Return the configuration of MkDocs."""
    return {
        "site_name": "dpubench", "site_description": "What is worth moving from the host CPU to the network device?",
        "docs_dir": "pages", "site_dir": str(site), "use_directory_urls": False, "copyright": f"dpubench {__version__}. Apache-2.0.",
        # No font and no icon is fetched from elsewhere: the site works without a network.
        "theme": {
            "name": "material", "font": False, "features": ["navigation.sections", "navigation.top", "toc.follow", "content.code.copy"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "black", "accent": "blue"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "black", "accent": "blue"},
            ],
        },
        "plugins": ["search", "offline"],
        "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": True}}],
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"},
        },
        "nav": navigation(pages),
    }  # fmt: skip


def inside(text: str, name: str) -> str:
    """Return a page outside of docs/, or one that links to it, with links as the site has them."""
    if name in OUTSIDE.values():
        text = re.sub(r"\]\(docs/", "](", text)
    for outside, page in OUTSIDE.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(outside)}", f"]({page}", text)
    return text


def prepare(folder: Path) -> None:
    """Write the site's pages and configuration to ``folder``, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(DOCS, pages)
    for outside, page in OUTSIDE.items():
        shutil.copy(ROOT / outside, pages / page)
    for file in pages.glob("*.md"):
        file.write_text(inside(file.read_text(encoding="utf-8"), file.name), encoding="utf-8")
    reference.write(pages / "reference")
    found = {str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    # JSON is YAML, too.
    (folder / "mkdocs.yml").write_text(json.dumps(configuration(found, folder.resolve() / "site"), indent=1), encoding="utf-8")


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
