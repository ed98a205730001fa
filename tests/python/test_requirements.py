"""Tests of the lock that `make` installs from: every dependency has an upper bound, and a locked version within it, with hashes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]


def locked(file: Path) -> list[tuple[Requirement, list[str]]]:
    """Return each entry of a lock with its hashes."""
    joined = re.sub(r"\\\n\s*", "", file.read_text())
    entries = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line.partition("--hash")[0].strip()), re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)) for line in entries]


@pytest.mark.parametrize(
    ("file", "extras"), [("run.txt", ("build",)), ("test.txt", ("build", "test", "dask")), ("mutate.txt", ("build", "test", "dask", "mutate"))]
)
def test_every_dependency_is_locked_within_its_bounds(file: str, extras: tuple[str, ...]) -> None:
    lock = locked(ROOT / "requirements" / file)
    assert all(hashes for _, hashes in lock)
    here = {canonicalize_name(r.name): r for r, _ in lock if r.marker is None or r.marker.evaluate()}
    wanted = [Requirement(text) for text in [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]]
    for requirement in wanted:
        if requirement.name == "dpubench" or (requirement.marker is not None and not Marker(str(requirement.marker)).evaluate()):
            continue
        (version,) = here[canonicalize_name(requirement.name)].specifier
        assert version.operator == "==" and requirement.specifier.contains(version.version, prereleases=True), requirement


def test_the_site_is_locked_by_itself() -> None:
    lock = locked(ROOT / "requirements/docs.txt")
    assert all(hashes for _, hashes in lock)
    here = {canonicalize_name(r.name): r for r, _ in lock if r.marker is None or r.marker.evaluate()}
    for requirement in map(Requirement, GROUPS["docs"]):
        (version,) = here[canonicalize_name(requirement.name)].specifier
        assert version.operator == "==" and requirement.specifier.contains(version.version), requirement


def test_every_dependency_has_an_upper_bound() -> None:
    for text in [*PROJECT["dependencies"], *(text for extra in (*EXTRAS.values(), *GROUPS.values()) for text in extra)]:
        requirement = Requirement(text)
        bounded = any(s.operator in ("<", "<=", "==") for s in requirement.specifier)
        assert bounded or requirement.name in ("dpubench", "setuptools"), text  # setuptools is only needed to build, and the lock names its version
