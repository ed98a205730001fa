"""Constants and fields that both halves and the schemas have. One place declares each; here all others are compared with it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import schemas, wire
from dpubench.plans import bursts, frames
from dpubench.studies.operators import views, windows
from dpubench.studies.operators.rounds import windows_schema

NATIVE = Path(__file__).resolve().parents[2] / "native"
SCHEMAS = sorted(path.name.removesuffix(".schema.json") for path in Path(schemas.__file__).parent.glob("*.schema.json"))


def declared(file: str, name: str) -> int:
    """Return the value of a constant that a header declares."""
    found = re.search(rf"constexpr std::\w+ {name} = (\d+);", (NATIVE / file).read_text(encoding="utf-8"))
    assert found is not None, f"{file} declares no {name}"
    return int(found[1])


def properties(value: Any, where: str = "") -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield place, name and schema of every property below ``value``."""
    if isinstance(value, dict):
        for name, one in value.get("properties", {}).items():
            yield f"{where}/{name}", name, one
        for name, one in value.items():
            yield from properties(one, f"{where}/{name}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from properties(one, f"{where}/{i}")


def limits(names: tuple[str, ...], bound: str) -> dict[str, float]:
    """Return, by place, the bound of every property of these names in the schemas of jobs and events."""
    found = {}
    for schema in SCHEMAS:
        for where, name, one in properties(schemas.schema(schema)):
            if name in names and bound in one and (schema.endswith("job") or schema == "event"):
                found[schema + where] = one[bound]
    return found


@pytest.mark.parametrize(
    ("constant", "names", "python", "places"),
    [
        ("kMaxBurst", ("burst", "default_burst"), bursts.MAX_BURST, 7),
        ("kMaxInFlight", ("in_flight",), bursts.MAX_IN_FLIGHT, 1),
    ],
)
def test_limits_of_bursts_are_declared_once(constant: str, names: tuple[str, ...], python: int, places: int) -> None:
    value = declared("base/burst.hpp", constant)
    assert python == value
    found = limits(names, "maximum")
    assert len(found) == places, found
    assert set(found.values()) == {value}, found


def test_limits_of_frames_are_declared_once() -> None:
    least, most = declared("packet/headers.hpp", "kLeastFrame"), declared("datapath/frame/size.hpp", "kMaxFrame")
    assert (least, most) == (frames.SMALLEST_FRAME, frames.LARGEST_FRAME)
    assert set(limits(("max_frame",), "minimum").values()) == {least}
    assert set(limits(("max_frame",), "maximum").values()) == {most}


def test_no_second_declaration_of_the_limit_of_bursts() -> None:
    pattern = re.compile(r"(?:kMax\w*Burst|MAX_BURST)\b[^=\n]*= *256\b")
    package = Path(bursts.__file__).resolve().parents[1]
    sources = [*NATIVE.rglob("*.?pp"), *package.rglob("*.py")]
    found = [path.name for path in sources if pattern.search(path.read_text(encoding="utf-8"))]
    assert sorted(found) == ["burst.hpp", "bursts.py"]


def test_whoever_lists_fields_of_a_window_lists_those_of_the_schema() -> None:
    fields = {field.name: field for field in schemas.window_fields()}
    assert set(windows_schema().names) == set(fields)
    columns = {field.name for field in dataclasses.fields(windows.Windows)} - {"point_names", "group_names"}
    assert columns < set(fields)
    viewed = {*views._NAMES, *views._WHOLE, *views._REAL}
    assert viewed < set(fields)
    assert columns == viewed | {"metrics"}
    assert {field.most for field in fields.values() if field.kind == "count" and field.name != "layout"} == {wire.LARGEST_COUNT, 1}


def test_the_program_writes_the_fields_of_the_schema() -> None:
    text = (NATIVE / "protocol/events.cpp").read_text(encoding="utf-8")
    body = text[text.index("void EventWriter::window(") :]
    body = body[: body.index("\n}\n")]
    written = {*re.findall(r'\{"(\w+)", window\.', body), *re.findall(r'event\["(\w+)"\]', body)}
    assert written == {field.name for field in schemas.window_fields()} - {"layout"}
