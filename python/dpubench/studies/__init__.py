"""Studies: each a folder here, found by a scan; ``end_to_end`` is the study ``end-to-end``.

A study holds its built-in plans as YAML files and, in ``study.py``, ``STUDY``.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from dpubench.errors import UserError, nearest

if TYPE_CHECKING:
    from dpubench.catalog import Catalog
    from dpubench.plans.load import Where
    from dpubench.plans.model import Plan
    from dpubench.runner.model import Expansion


class Study(Protocol):
    """What the runner needs of a study."""

    name: str
    question: str

    def expand(self, plan: Plan, catalog: Catalog, cpus: int, where: Where) -> Expansion:
        """The configurations that ``plan`` declares. @raises PlanError with every problem that only the catalog shows."""


def names() -> list[str]:
    """Every study, by name."""
    here = Path(__path__[0])
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if m.ispkg and (here / m.name / "study.py").is_file())


def _package(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def find(name: str) -> Study:
    """The study called ``name``. @raises UserError with the nearest name."""
    if name not in names():
        raise UserError(f"unknown study '{name}'{nearest(name, names())}")
    return cast("Study", importlib.import_module(f"{_package(name)}.study").STUDY)


def plan_names(study: str) -> list[str]:
    """Built-in plans of a study, ``quick`` first."""
    found = [f.name[:-5] for f in resources.files(_package(study)).iterdir() if f.name.endswith(".yaml")]
    return sorted(found, key=lambda n: (n != "quick", n))


def plan_path(study: str, plan: str) -> Path:
    """The file of a built-in plan. @raises UserError with the nearest name."""
    known = plan_names(study)
    if plan not in known:
        raise UserError(f"--plan: study '{study}' has no plan '{plan}'{nearest(plan, known)}")
    return Path(str(resources.files(_package(study)).joinpath(f"{plan}.yaml")))
