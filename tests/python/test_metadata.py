"""Tests of what the project says about itself: one version, and authors, licence and readme that agree wherever they stand."""

from __future__ import annotations

import re
import subprocess
import sys

import dpubench
import yaml
from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_version_stands_in_one_place() -> None:
    version = (ROOT / "python/dpubench/VERSION").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?\n", version)
    assert dpubench.__version__ == version.strip()
    assert "version" in PROJECT["dynamic"] and PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"file": "python/dpubench/VERSION"}
    assert "version: files('python/dpubench/VERSION')" in (ROOT / "meson.build").read_text()
    assert "version" not in CITATION, "a run's report names the version to cite"


def test_the_program_prints_that_version() -> None:
    done = subprocess.run([sys.executable, "-m", "dpubench", "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == f"dpubench {dpubench.__version__}\n"


def test_authors_licence_and_keywords_are_those_of_the_citation() -> None:
    assert [a["name"] for a in PROJECT["authors"]] == [a["name"] for a in CITATION["authors"]]
    assert PROJECT["license"] == CITATION["license"] == "Apache-2.0"
    assert PROJECT["keywords"] == CITATION["keywords"]
    assert "license: 'Apache-2.0'" in (ROOT / "meson.build").read_text()


def test_every_python_that_is_allowed_has_its_classifier() -> None:
    oldest = int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1])  # type: ignore[index]
    named = sorted(int(c.rpartition(".")[2]) for c in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d", c))
    assert named == list(range(oldest, named[-1] + 1)) and named[-1] >= sys.version_info.minor


def test_files_that_the_metadata_names_are_there() -> None:
    assert (ROOT / PROJECT["readme"]).is_file()
    for pattern in PROJECT["license-files"]:
        assert list(ROOT.glob(pattern)), pattern


def test_the_changes_begin_with_this_version_or_what_is_unreleased() -> None:
    first = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None and (first[1].startswith("Unreleased") or first[1].split()[0] == dpubench.__version__)
