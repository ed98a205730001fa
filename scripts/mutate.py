"""Plants faults in the code that decides, one at a time, and tells which ones the fast tests notice.

The faults of Python modules are made by cosmic-ray's operators (github.com/sixty-north/cosmic-ray). Those of C++ are edits of a list. Every fault is
planted in a copy of the tree. ``tests/mutation/`` says which modules, which tests, which edits, and why a fault that no test notices is no fault.

The exit status is 1 if fewer than 85 % are noticed, or if one that is not noticed has no reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import functools
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
LISTS: Final = ROOT / "tests" / "mutation"
LEAST_NOTICED: Final = 0.85
#: A test of a fault may take so many times as long as without one, and so many seconds more: a fault that makes a loop endless is noticed.
PATIENCE: Final = 5
PATIENCE_S: Final = 30
_NOTICED_STATUSES: Final = (1, 2)  #: pytest: a test failed, or a file could not be loaded

Outcome = Literal["noticed", "survived"]


class WrongList(Exception):
    """A list of ``tests/mutation/`` that does not fit the tree."""


@dataclass(frozen=True)
class Fault:
    """A change of one file that a test ought to notice."""

    path: str
    old: str  #: the changed lines before
    new: str  #: the changed lines with the fault
    content: str  #: the whole file with the fault
    tests: tuple[str, ...]  #: words of the command that tests it, behind the runner
    build: tuple[str, ...] = ()  #: what is built before, for C++

    @property
    def key(self) -> tuple[str, str, str]:
        return key_of(self.path, self.old, self.new)

    def told(self) -> str:
        return f"{self.path}\n    - {self.old}\n    + {self.new}"


def key_of(path: str, old: str, new: str) -> tuple[str, str, str]:
    """Return what tells one fault from another, whatever its place in the file and its indentation."""
    return path, " ".join(old.split()), " ".join(new.split())


# --------------------------------------------------------------------------- the lists


def read_list(name: str, lists: Path = LISTS) -> Any:
    return yaml.safe_load((lists / name).read_text(encoding="utf-8"))


def reasons(lists: Path = LISTS, root: Path = ROOT) -> dict[tuple[str, str, str], str]:
    """Return why each known survivor is none of a fault. @raises WrongList an entry has no reason, or its line is gone"""
    found: dict[tuple[str, str, str], str] = {}
    for entry in read_list("survivors.yaml", lists) or []:
        where = f"{entry['path']}: {entry['old']}"
        if not str(entry.get("reason") or "").strip():
            raise WrongList(f"survivors.yaml: {where}: has no reason: say why no test can or should notice it, or write the test")
        if " ".join(entry["old"].split()) not in " ".join((root / entry["path"]).read_text(encoding="utf-8").split()):
            raise WrongList(f"survivors.yaml: {where}: is no longer in the file: remove the entry")
        found[key_of(entry["path"], entry["old"], entry["new"])] = entry["reason"]
    return found


def edits(lists: Path = LISTS, root: Path = ROOT) -> list[Fault]:
    """Return the faults of C++. @raises WrongList an edit is not at exactly one place of its file"""
    found = []
    for entry in read_list("native.yaml", lists):
        text = (root / entry["path"]).read_text(encoding="utf-8")
        if (times := text.count(entry["old"])) != 1:
            raise WrongList(f"native.yaml: {entry['path']}: {entry['old']!r} is there {times} times: it must be there once")
        content = text.replace(entry["old"], entry["new"])
        found.append(Fault(entry["path"], entry["old"], entry["new"], content, tuple(entry["test"].split()), tuple(entry["build"])))
    return found


# --------------------------------------------------------------------------- faults of Python


def mutants(path: str, tests: Sequence[str], functions: Sequence[str], operators: str, most: int, seed: str, root: Path = ROOT) -> list[Fault]:
    """Return ``most`` of the faults that cosmic-ray's operators make in a module, without those that only change annotations.

    The seed and the changed line decide which ones: other lines of the file do not.

    Args:
        functions: names of the functions and classes to which faults are confined; all if there are none
        operators: a regular expression for the names of operators
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = (root / path).read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    own = _lines_of(tree, functions) if functions else set(range(1, len(lines) + 1))
    nodes = list(ast_nodes(get_ast(source)))
    chances: list[tuple[bytes, str, int]] = []
    for name in (n for n in operator_names() if re.fullmatch(operators, n.partition("/")[2])):
        positions = (start for node in nodes for start, _ in get_operator(name)().mutation_positions(node))
        for occurrence, (line, column) in enumerate(positions):
            if line in own:
                chances.append((hashlib.sha256(repr((seed, name, lines[line - 1].strip(), column)).encode()).digest(), name, occurrence))
    found: dict[tuple[str, str, str], Fault] = {}
    bare = _bare(tree)
    for _, name, occurrence in sorted(chances):
        if len(found) == most:
            break
        content = mutate_code(source, get_operator(name)(), occurrence)
        if content is not None and _is_other_code(bare, content):
            old, new = _difference(source, content)
            found.setdefault((fault := Fault(path, old, new, content, tuple(tests))).key, fault)
    return list(found.values())


def _lines_of(tree: ast.Module, names: Sequence[str]) -> set[int]:
    """Return the lines of the functions and classes with ``names``. @raises WrongList there is none of such a name"""
    lines: set[int] = set()
    for name in names:
        own = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name]
        if not own:
            raise WrongList(f"python.yaml: there is no function or class '{name}'")
        for node in own:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


class _Bare(ast.NodeTransformer):
    """Takes out annotations, which nothing evaluates, and decorators of classes, which say how data are kept (frozen, slots)."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _is_other_code(bare: str, content: str) -> bool:
    """Return whether ``content`` is valid code that does something else than the code of which :func:`_bare` made ``bare``."""
    try:
        return _bare(ast.parse(content)) != bare
    except SyntaxError:
        return False


def _bare(tree: ast.Module) -> str:
    return ast.dump(_Bare().visit(copy.deepcopy(tree)))


def _difference(source: str, content: str) -> tuple[str, str]:
    """Return the changed lines before and after."""
    before, after = source.splitlines(), content.splitlines()
    old, new = list[str](), list[str]()
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            old += before[i:j]
            new += after[k:m]
    return " ".join(line.strip() for line in old), " ".join(line.strip() for line in new)


# --------------------------------------------------------------------------- tests of faults


class Copy:
    """A copy of the tree's files in which faults are planted. As a context manager, it removes the copy."""

    def __init__(self, source: Path = ROOT) -> None:
        self._source = source
        self._folder = tempfile.TemporaryDirectory(prefix="dpubench-mutate-")
        self.path = Path(self._folder.name)

    def __enter__(self) -> Copy:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self._source, capture_output=True, check=True
        ).stdout.split(b"\0")
        for name in map(os.fsdecode, filter(None, listed)):
            if (self._source / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._source / name, self.path / name)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, words: Sequence[str], limit_s: float) -> int | None:
        """Return the exit status of a command in the copy; None if it took longer than ``limit_s``."""
        native = self.path / "build" / "native"
        environment = {
            **os.environ, "PYTHONPATH": str(self.path / "python"), "PYTHONDONTWRITEBYTECODE": "1",
            # What tests/meson.build gives the tests of C++.
            "DPUBENCH_AGENT": str(native / "dpubench-agent"), "DPUBENCH_ENGINE_DIR": str(native / "engines"),
            "DPUBENCH_STAGE_DIR": str(native / "stages"), "DPUBENCH_FIXTURE_DIR": str(native / "fixtures"),
        }  # fmt: skip
        with subprocess.Popen(
            words, cwd=self.path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with contextlib.suppress(ProcessLookupError):  # Its processes are ended too, for a fault may leave some.
                    os.killpg(process.pid, signal.SIGKILL)

    def outcome(self, fault: Fault, limit_s: float) -> Outcome:
        """Plant ``fault``, test it, and take it out again."""
        file = self.path / fault.path
        whole = file.read_text(encoding="utf-8")
        file.write_text(fault.content, encoding="utf-8")
        try:
            status = self.test(fault, limit_s)
        finally:
            file.write_text(whole, encoding="utf-8")
        if status == 0:
            return "survived"
        if status is None or status in _NOTICED_STATUSES or status < 0:
            return "noticed"
        raise WrongList(f"{' '.join(fault.tests)}: ended with status {status}: does it name tests that exist?")

    def test(self, fault: Fault, limit_s: float) -> int | None:
        return self.run(python_tests(fault.tests), limit_s)


class NativeCopy(Copy):
    """A copy with a build folder of its own, in which one test program is built for each fault."""

    def __enter__(self) -> NativeCopy:
        super().__enter__()
        words = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", "build", "-Dtests=true", "-Dlayouts=1"]
        if self.run(words, 600) != 0:
            self.__exit__()
            raise WrongList(f"{' '.join(words)}: failed: does `make build-tests` work?")
        return self

    def test(self, fault: Fault, limit_s: float) -> int | None:
        """Build and run the test of ``fault``. A fault that does not compile is no fault. @raises WrongList"""
        if self.run(["ninja", "-C", "build", *fault.build], 1800) != 0:
            raise WrongList(f"native.yaml: {fault.told()}: does not compile")
        return self.run([str(self.path / "build" / fault.tests[0]), *fault.tests[1:]], limit_s)


def python_tests(tests: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]


def timed(place: Copy, fault: Fault) -> float:
    """Return the seconds that the tests of ``fault`` may take. @raises WrongList they fail without it"""
    begun = time.monotonic()
    if (status := place.test(fault, 1800)) != 0:
        raise WrongList(f"{' '.join(fault.tests)}: these tests fail without a fault (status {status})")
    return PATIENCE * (time.monotonic() - begun) + PATIENCE_S


def outcomes(faults: Sequence[Fault], copies: Sequence[Copy]) -> Iterator[tuple[Fault, Outcome]]:
    """Yield each fault with its outcome, in the given order; every copy tests one fault at a time."""
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for place in copies:
        free.put(place)
    limits = {tests: timed(copies[0], next(f for f in faults if f.tests == tests)) for tests in dict.fromkeys(f.tests for f in faults)}

    def tested(fault: Fault) -> Outcome:
        place = free.get()
        try:
            return place.outcome(fault, limits[fault.tests])
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(copies)) as pool:
        try:
            yield from zip(faults, pool.map(tested, faults), strict=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# --------------------------------------------------------------------------- the end


def verdict(found: Sequence[tuple[Fault, Outcome]], known: Mapping[tuple[str, str, str], str]) -> tuple[list[str], bool]:
    """Return the lines of the report and whether all is well: enough faults are noticed, and each of the others has a reason."""
    left = [fault for fault, outcome in found if outcome == "survived"]
    noticed = len(found) - len(left)
    share = noticed / len(found) if found else 0.0
    lines = [
        f"{path}: {sum(outcome == 'noticed' for fault, outcome in found if fault.path == path)} of {number} faults noticed"
        for path, number in Counter(fault.path for fault, _ in found).items()
    ]
    advice = "no reason: write a test that notices it, or say in tests/mutation/survivors.yaml why there is none"
    lines += [f"not noticed: {fault.told()}\n    {known.get(fault.key, advice)}" for fault in left]
    lines.append(f"{noticed} of {len(found)} faults noticed, {100 * share:.0f} % (at least {100 * LEAST_NOTICED:.0f} %)")
    return lines, share >= LEAST_NOTICED and all(fault.key in known for fault in left)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--native", action="store_true", help="plant the faults of C++ (builds each)")
    parser.add_argument("--sample", type=int, default=12, help="faults of each module (default 12)")
    parser.add_argument("--seed", default="1", help="which ones (default 1)")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="faults at a time")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    kind: type[Copy]
    found: list[tuple[Fault, Outcome]] = []
    try:
        known = reasons()
        if given.native:
            faults, kind, jobs = [f for f in edits() if given.only in f.path], NativeCopy, 1  # a build uses all CPUs itself
        else:
            listed = read_list("python.yaml")
            made = functools.partial(mutants, operators="|".join(listed["operators"]), most=given.sample, seed=given.seed)
            faults = [f for m in listed["modules"] if given.only in m["path"] for f in made(m["path"], m["tests"], m.get("functions", []))]
            kind, jobs = Copy, given.jobs
        if not faults:
            raise WrongList(f"--only {given.only}: no file is called so")
        with contextlib.ExitStack() as opened:
            copies = [opened.enter_context(kind()) for _ in range(min(jobs, len(faults)))]
            for fault, outcome in outcomes(faults, copies):
                print(f"{outcome}: {fault.told()}", file=sys.stderr, flush=True)
                found.append((fault, outcome))
    except WrongList as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutate: stopped", file=sys.stderr)
        return 130
    lines, well = verdict(found, known)
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
