"""Models of real processors: descriptions for ``dpubench-cores``, with a source for every figure, and comparisons with published figures.

A model is a file ``models/NAME.yaml``. Its ``processor`` is a description in the form of docs/cores.md ("Describing a processor"), with a source for
each figure: either beside the value, or in the mapping around several values that come from one row of a table::

    fetch: {value: 3, source: swog, at: section 2.1}
    depth_cycles: {value: 13, assumed: the manuals do not say}
    integer: {latency_cycles: 1, every_cycles: 1, source: swog, at: section 3.3}

``source`` names one of the file's ``references``, ``at`` the place in it. ``assumed`` gives the reason why a value has no source.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dpubench.errors import PlanError, Problem, UserError, nearest
from dpubench.plans import load as plan_files
from dpubench.plans import yaml_lines
from dpubench.simulation.comparison import Comparison, Reads
from dpubench.simulation.kernels import Kernel

#: Label printed beside every figure of a model.
LABEL: Final = "modelled, general-purpose cores only, no accelerators"
#: A second label, if the processor's instruction set is not that of the traces.
OTHER_ARCHITECTURE: Final = "A64 trace"
#: Words for organisations -> the fetch policies that they mean.
ORGANISATIONS: Final = {"superscalar": "single", "cmp": "single", "fgmt": "skip_not_ready", "smt": "icount"}

_NOTES: Final = frozenset({"source", "at", "assumed"})
_FIRST_LEVELS: Final = ("instruction_cache", "data_cache")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of one value of a description."""

    path: str  #: path in the description: ``caches/l1d/size_bytes``; units and queues by their names
    value: str | float | bool
    reference: str  #: citation of the document; empty: the value is assumed
    at: str  #: place in the document
    assumed: str  #: why the value is assumed; empty: it has a source


@dataclass(frozen=True)
class Model:
    """A processor: its description, the source of each figure, and comparisons with published figures."""

    name: str
    title: str
    year: int  #: year of the product, or of the paper that describes it
    architecture: str  #: instruction set that it executes: ``A64``, ``x86-64``, ``Alpha``
    processor: dict[str, Any]  #: description for ``dpubench-cores``; never changed, :meth:`with_organisation` returns copies
    sources: tuple[Source, ...]
    references: Mapping[str, str]  #: short name -> citation
    comparisons: tuple[Comparison, ...]
    line_rates_gbps: tuple[float, ...]  #: line rates of the product's ports; empty if it has none
    limits: tuple[str, ...]  #: what the model leaves out, and what to keep in mind about it
    unit_set: tuple[str, ...] = field(default=())  #: names of the units that make up a unit set, one of each; empty: the model has no unit sets

    @property
    def clock_mhz(self) -> float:
        return float(self.processor["clock"]["mhz"])

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels printed beside every figure of this model."""
        return (LABEL,) if self.architecture == "A64" else (LABEL, OTHER_ARCHITECTURE)

    @property
    def assumed(self) -> tuple[Source, ...]:
        """Return the values without a source."""
        return tuple(source for source in self.sources if source.assumed)

    def with_organisation(
        self,
        *,
        policy: str | None = None,
        contexts: int | None = None,
        cores: int | None = None,
        unit_sets: int | None = None,
        clock_mhz: float | None = None,
        window: Literal["shared", "divided"] | None = None,
        switch_cycles: int | None = None,
        dma: Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return a description derived from this model's. Values that are not given stay unchanged.

        ``policy`` is a policy of descriptions, or a word of :data:`ORGANISATIONS`. ``smt`` (or ``icount``, ``rr`` without numbers) fetches for up to
        two contexts, each up to the width of the front end. A cache that all cores share is shared by the new number of cores; groups of a fixed size
        keep their size. A ``divided`` window loses the entries that no context gets. ``changes`` sets single values by path, as :func:`changed` does,
        after everything else.

        Raises:
            UserError: the model has no unit sets, its cache groups do not fit the number of cores, or there is no such path.
        """
        derived = copy.deepcopy(self.processor)
        organisation = derived["organisation"]
        if contexts is not None:
            organisation["contexts"] = contexts
        if policy is not None:
            organisation["policy"] = _policy(policy, organisation["contexts"], derived["widths"]["fetch"])
        if cores is not None:
            _share(self, derived, cores)
        if unit_sets is not None:
            _set_units(self, derived, unit_sets)
        if clock_mhz is not None:
            derived["clock"]["mhz"] = clock_mhz
        if switch_cycles is not None:
            organisation["switch_cycles"] = switch_cycles
        if window is not None:
            organisation["window"] = window
        if organisation.get("window") == "divided":
            _divide(derived)
        if dma is not None:
            derived["dma"] = dict(dma)
        derived = changed(derived, changes or {})
        derived["name"] = _name(self, derived)
        return derived


def names() -> tuple[str, ...]:
    """Return the names of all models, sorted."""
    return tuple(sorted(f.name.removesuffix(".yaml") for f in _folder().iterdir() if f.name.endswith(".yaml")))


@functools.cache
def load(name: str) -> Model:
    """Return the model ``name``.

    Raises:
        UserError: there is no model of that name.
        PlanError: its file is wrong; with every problem.
    """
    if name not in names():
        raise UserError(f"there is no processor model '{name}'{nearest(name, names())}")
    file = _folder() / f"{name}.yaml"
    return parse(file.read_text(encoding="utf-8"), name, f"models/{name}.yaml")


def parse(text: str, name: str, source: str) -> Model:
    """Return the model in ``text``, the content of the file ``source``. @raises PlanError with every problem, by key and line"""
    data, lines = yaml_lines.parse(text, source, "processor model")
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise PlanError(source, plan_files.problems_of(error, data, lines, _File)) from None
    reader = _Reader(lines, file.references)
    processor = reader.mapping(file.processor, ("processor",), None)
    comparisons = tuple(reader.comparison(c, ("comparisons", i)) for i, c in enumerate(file.comparisons))
    unit_names = [unit["name"] for unit in processor.get("units", []) if isinstance(unit, dict) and "name" in unit]
    for i, unit in enumerate(file.unit_set):
        if unit not in unit_names:
            reader.problem(f"there is no unit '{unit}'{nearest(unit, unit_names)}", ("unit_set", i))
    for unused in sorted(set(file.references) - reader.used):
        reader.problem(f"nothing cites the reference '{unused}': remove it, or cite it as a source", ("references", unused))
    if "name" in processor:
        reader.problem("the name of the file is the name of the model: remove this key", ("processor", "name"))
    if reader.problems:
        raise PlanError(source, reader.problems)
    return Model(
        name, file.title, file.year, file.architecture, {"name": name, **processor}, tuple(reader.sources), dict(file.references), comparisons,
        tuple(file.line_rates_gbps), tuple(file.limits), tuple(file.unit_set),
    )  # fmt: skip


def changed(processor: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the description ``processor`` with values set by path: ``{"window/instructions": 64, "units/integer/count": 3}``.

    Raises:
        UserError: a path does not exist in the description.
    """
    derived = copy.deepcopy(dict(processor))
    for path, value in changes.items():
        *way, last = path.split("/")
        at: Any = derived
        for step in way:
            at = _inside(at, step)
        if not isinstance(at, dict) or last not in at:
            known = [p for p, _ in leaves(derived)]
            raise UserError(f"{derived.get('name', 'the processor')}: there is no '{path}' in its description{_nearest_path(path, known)}")
        at[last] = value
    return derived


def leaves(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for every value of a description. A list element goes by its name, else by its number."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            yield from leaves(value, f"{path}/{key}" if path else str(key))
    elif isinstance(part, list):
        for i, value in enumerate(part):
            yield from leaves(value, f"{path}/{_element(value, i)}")
    else:
        yield path, part


def _folder() -> Any:
    return resources.files("dpubench.simulation") / "models"


def _element(value: Any, index: int) -> str:
    named = value.get("name") if isinstance(value, Mapping) else None
    return str(named.get("value", index) if isinstance(named, Mapping) else named if named is not None else index)


def _inside(part: Any, step: str) -> Any:
    if isinstance(part, dict):
        return part.get(step)
    if isinstance(part, list):
        return next((value for i, value in enumerate(part) if _element(value, i) == step), None)
    return None


def _nearest_path(path: str, known: list[str]) -> str:
    return nearest(path, known) if len(known) < 8 or "did you mean" in nearest(path, known) else ""


def _policy(word: str, contexts: int, fetch: int) -> str:
    policy = ORGANISATIONS.get(word, word)
    return f"{policy}.{min(2, contexts)}.{fetch}" if policy in ("icount", "rr") else policy


def _share(model: Model, derived: dict[str, Any], cores: int) -> None:
    """Set the number of cores in the description, and how many share each cache. @raises UserError"""
    was = derived["organisation"]["cores"]
    derived["organisation"]["cores"] = cores
    for name, cache in derived["caches"].items():
        if cache.get("ideal") or name in (derived[key] for key in _FIRST_LEVELS):
            continue
        group = cache.get("shared_by", 1)
        if group == was:
            cache["shared_by"] = cores
        elif cores % group == 0:
            cache["shared_by"] = group
        elif cores < group:
            cache["shared_by"] = cores
        else:
            raise UserError(f"{model.name}: {cores} cores cannot share '{name}' in groups of {group}: give a multiple of {group}, or fewer")


def _set_units(model: Model, derived: dict[str, Any], sets: int) -> None:
    if not model.unit_set:
        raise UserError(f"{model.name}: this model has no unit sets: give unit_sets only with a model whose file has a unit_set")
    for unit in derived["units"]:
        if unit["name"] in model.unit_set:
            unit["count"] = sets


def _divide(derived: dict[str, Any]) -> None:
    contexts = derived["organisation"]["contexts"]
    window = derived["window"]
    for key, entries in window.items():
        window[key] = max(1, entries // contexts) * contexts
    for queue in derived["queues"]:
        queue["entries"] = max(1, queue["entries"] // contexts) * contexts


def _name(model: Model, derived: Mapping[str, Any]) -> str:
    """Return the model's name and the values that differ from its file, to distinguish results."""
    was = dict(leaves(model.processor))
    # Leave out the sharing of caches, which follows from the number of cores, and the name itself.
    other = [(p, v) for p, v in leaves(derived) if was.get(p) != v and p != "name" and not p.endswith("/shared_by")]
    short = {"clock/mhz": "clock"}
    words = [(short.get(p, p.removeprefix("organisation/")), v) for p, v in other]
    parts = [f"{word} {value:g}" if isinstance(value, float) else f"{word} {value}" for word, value in words]
    return f"{model.name} ({', '.join(parts)})" if parts else model.name


# The models of the file's content.

_Text = Annotated[str, Field(min_length=1)]
_Positive = Annotated[float, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Kernel(_Strict):
    operator: _Text
    engine: _Text
    params: dict[str, str | int] = {}
    message_bytes: Annotated[int, Field(gt=0)] | None = None
    footprint: Literal["resident", "stream"] = "resident"
    messages: Annotated[int, Field(gt=0)]
    seed: Annotated[int, Field(ge=0)] = 1


class _Reads(_Strict):
    buffer_bytes: Annotated[int, Field(ge=4096, le=1 << 32)]


class _Comparison(_Strict):
    what: _Text
    quantity: Literal["cycles_per_byte", "cycles_per_read", "ns_per_read", "ns_beyond_first_level", "data_miss_percent"]
    value: _Positive
    at_most: bool = False
    source: _Text
    at: _Text
    machine: _Text
    clock_mhz: _Positive | None = None
    independent: bool
    note: str = ""
    kernel: _Kernel | None = None
    reads: _Reads | None = None
    #: By default one pass over the buffers of a resident footprint.
    warm_up_messages: Annotated[int, Field(ge=0)] = 32

    @model_validator(mode="after")
    def _one(self) -> _Comparison:
        if (self.kernel is None) == (self.reads is None):
            raise ValueError("our figure comes from kernel or from reads: give one of them, and not both")
        if (self.reads is None) == self.quantity.endswith(("_read", "_level")):
            raise ValueError(f"{self.quantity} is a quantity of {'reads' if self.reads is None else 'kernels'}")
        if self.quantity == "cycles_per_byte" and self.kernel is not None and self.kernel.message_bytes is None:
            raise ValueError("cycles_per_byte needs the kernel's message_bytes")
        if self.kernel is not None and self.warm_up_messages >= self.kernel.messages:
            raise ValueError(f"{self.warm_up_messages} of {self.kernel.messages} messages warm up: none is left to count")
        return self


class _File(_Strict):
    title: _Text
    year: Annotated[int, Field(ge=1970, le=2100)]
    architecture: Literal["A64", "x86-64", "Alpha"]
    line_rates_gbps: list[_Positive] = []
    limits: Annotated[list[_Text], Field(min_length=1)]
    references: dict[str, _Text]
    unit_set: list[str] = []
    processor: dict[str, Any]
    comparisons: Annotated[list[_Comparison], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class _Note:
    """A source or an assumption in the file."""

    reference: str
    at: str
    assumed: str


def _kernel(part: _Kernel) -> Kernel:
    params = tuple((key, str(value)) for key, value in part.params.items())
    return Kernel(part.operator, part.engine, params, part.message_bytes, part.footprint, part.messages, part.seed, burst=1)


class _Reader:
    """The reader of an annotated description: it separates the plain description from the source of every value."""

    def __init__(self, lines: yaml_lines.Lines, references: Mapping[str, str]) -> None:
        self._lines = lines
        self._references = references
        self.used: set[str] = set()
        self.sources: list[Source] = []
        self.problems: list[Problem] = []

    def problem(self, message: str, path: tuple[str | int, ...]) -> None:
        line = next((self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines), None)
        self.problems.append(Problem(message, ".".join(str(p) for p in path), line))

    def mapping(self, part: Mapping[str, Any], path: tuple[str | int, ...], note: _Note | None, at: str = "") -> dict[str, Any]:
        """Return ``part`` without its notes. ``note``: the note of the mapping around it; ``at``: its path in the description."""
        note = self._note(part, path) or note
        return {
            key: self._value(value, (*path, key), note, f"{at}/{key}" if at else key) for key, value in part.items() if key not in _NOTES
        }  # fmt: skip

    def comparison(self, part: _Comparison, path: tuple[str | int, ...]) -> Comparison:
        kernel, reads = part.kernel, part.reads
        return Comparison(
            part.what, part.quantity, part.value, part.at_most, self._cited(part.source, (*path, "source")), part.at, part.machine,
            part.clock_mhz, part.independent, part.note, None if kernel is None else _kernel(kernel),
            None if reads is None else Reads(reads.buffer_bytes), part.warm_up_messages,
        )  # fmt: skip

    def _value(self, value: Any, path: tuple[str | int, ...], note: _Note | None, at: str) -> Any:
        if isinstance(value, list):
            return [self._value(v, (*path, i), note, f"{at}/{_element(v, i)}") for i, v in enumerate(value)]
        if isinstance(value, Mapping) and "value" in value:
            for key in value:
                if key not in _NOTES and key != "value":
                    self.problem(f"unknown key '{key}' beside a value{nearest(key, sorted(_NOTES))}", (*path, key))
            return self._leaf(value["value"], (*path, "value"), self._note(value, path) or note, at)
        if isinstance(value, Mapping):
            return self.mapping(value, path, note, at)
        return self._leaf(value, path, note, at)

    def _leaf(self, value: Any, path: tuple[str | int, ...], note: _Note | None, at: str) -> Any:
        if value is None or isinstance(value, (list, Mapping)):
            self.problem("must be a number or a word", path)
        elif note is None:
            self.problem("has neither a source nor an assumption: give source and at, or assumed", path)
        else:
            self.sources.append(Source(at, value, note.reference, note.at, note.assumed))
        return value

    def _note(self, part: Mapping[str, Any], path: tuple[str | int, ...]) -> _Note | None:
        """Return the note of ``part`` itself, or None if it has none."""
        said = {key: part[key] for key in part if key in _NOTES}
        if not said:
            return None
        for key, text in said.items():
            if not isinstance(text, (str, int, float)) or not str(text).strip():
                self.problem("must be a text", (*path, key))
        if "assumed" in said:
            if len(said) > 1:
                self.problem("a value has either a source or an assumption: give one of them", (*path, "assumed"))
            return _Note("", "", str(said["assumed"]))
        for key in ("source", "at"):
            if key not in said:
                self.problem(f"'{key}' is missing beside '{next(iter(said))}'", (*path, next(iter(said))))
        return _Note(self._cited(str(said.get("source", "")), (*path, "source")), str(said.get("at", "")), "")

    def _cited(self, reference: str, path: tuple[str | int, ...]) -> str:
        self.used.add(reference)
        if reference and reference not in self._references:
            self.problem(f"there is no reference '{reference}'{nearest(reference, self._references)}", path)
        return self._references.get(reference, reference)
