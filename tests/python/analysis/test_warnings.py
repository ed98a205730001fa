"""The closed set of warning codes: every code that a program emits is declared, and its advice can be followed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import schemas, studies
from dpubench.analysis import warnings
from dpubench.analysis.model import Warning_
from dpubench.report.troubles import warning_groups
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[3]
#: The ways in which sources emit a code.
EMITTED = re.compile(r'"code": "([a-z-]+)"|\b_warn\("([a-z-]+)"|Warning_\(\s*"([a-z-]+)"|\bwarning\("([a-z-]+)"|\bRemark\{"([a-z-]+)"')


@cache
def emitted() -> dict[str, Path]:
    """Return each code that the sources emit, with a file that emits it."""
    found: dict[str, Path] = {}
    for file in [*ROOT.glob("python/dpubench/**/*.py"), *ROOT.glob("native/**/*.[ch]pp")]:
        if not re.search(r"_test\.cpp$|testing\.hpp$", file.name):
            for match in EMITTED.finditer(file.read_text(encoding="utf-8")):
                found.setdefault(next(filter(None, match.groups())), file)
    return found


def test_every_code_that_a_program_emits_is_declared() -> None:
    unknown = {code: str(file) for code, file in emitted().items() if code not in warnings.kinds()}
    assert not unknown and len(emitted()) > 12


def test_every_declared_code_is_emitted_or_read() -> None:
    never = set(warnings.kinds()) - set(emitted())
    sources = "".join(file.read_text(encoding="utf-8") for file in ROOT.glob("native/**/*.[ch]pp"))
    assert {code for code in never if f'"{code}"' not in sources} == {"superseded"}, "a table names that one"


def keys_of(model: type[BaseModel], prefix: str = "") -> set[str]:
    """Return the keys of a plan, as ``rounds.max``."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        found.add(prefix + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= keys_of(field.annotation, f"{prefix}{name}.")
    return found


@pytest.mark.parametrize("code", sorted(warnings.kinds()))
def test_advice_names_options_and_keys_that_there_are(code: str, bench: Bench) -> None:
    kind = warnings.kinds()[code]
    assert kind.meaning and kind.advice and 1 <= kind.severity <= 9 and not kind.advice.endswith(".")
    options = set(re.findall(r"--[a-z-]+", bench("run", "--help").stdout))
    assert set(re.findall(r"--[a-z-]+", kind.advice)) <= options
    keys = {key for name in studies.names() for key in keys_of(studies.find(name).plan_model)}
    assert {key for key in re.findall(r"\b[a-z_]+\.[a-z_]+\b", kind.advice) if not key.endswith(".md")} <= keys


def test_codes_follow_the_schema_and_the_worst_comes_first() -> None:
    pattern = schemas.schema("run")["properties"]["warnings"]["items"]["properties"]["code"]["pattern"]
    assert all(re.fullmatch(pattern, code) for code in warnings.kinds())
    found = [("run", Warning_(code, "told")) for code in ("passthrough", "not-converged", "superseded", "of-tomorrow")]
    assert [group.code for group in warning_groups(found, warnings.advice)] == ["of-tomorrow", "superseded", "not-converged", "passthrough"]
