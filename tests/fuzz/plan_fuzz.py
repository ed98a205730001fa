#!/usr/bin/env python3
"""Coverage-guided fuzzing (atheris) of the plan parser: whatever the text, the answer is a plan or a PlanError, soon.

    plan_fuzz.py [--seconds 60] [--corpus DIR]

Runs the fuzzer in a child process from the corpus (``corpus/plan`` beside this file, as the fuzzer generated it), then replays all that it kept under
coverage.py, prints the line coverage of ``dpubench/plans`` and ends with 1 when that is below 90 % or when an input broke the parser.
``--keep`` adds what the fuzzer found to the corpus. Where atheris is not
installed (PyPI has it for x86-64 only) the corpus is replayed without searching further, and that is said.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
CORPUS = HERE / "corpus" / "plan"
LEAST_COVERAGE = 90.0
#: A file that is gone with the process: libFuzzer's loop ends in a way that tidies nothing up.
SCRATCH = Path(f"/proc/self/fd/{os.memfd_create('plan.yaml')}")

sys.path.insert(0, str(PACKAGE))


def parse(data: bytes) -> None:
    """One input: a plan in a file, the same values as if options had given them, and quantities."""
    from dpubench.errors import PlanError, UserError
    from dpubench.plans import load, yaml_lines
    from dpubench.plans import quantities as q

    text = data.decode("utf-8", "replace")
    try:
        plan, _ = load.parse_plan(text, "plan.yaml")
    except PlanError as error:
        if not str(error):
            raise AssertionError("an error without words") from error
    else:
        # What was accepted is written out and read back to the same plan: `plan.yaml` of a run repeats it.
        again, _ = load.parse_plan(load.plan_text(plan), "again")
        where = load.Where("plan.yaml", options={"operators": "--operator"})
        if load.plan_from_words(plan.words(), where) != plan or not where.problem("unknown", "operators", 0).field.startswith("--"):
            raise AssertionError("values of options are read otherwise than those of files")
        if again != plan:
            raise AssertionError(f"{plan} came back as {again}")
    if data[:1] >= b"\x80":  # bytes that are no UTF-8 reach the parser only through a file
        try:
            SCRATCH.write_bytes(data)
            load.read_plan(SCRATCH if data[:1] != b"\xff" else SCRATCH.parent)
        except UserError:
            pass
    try:
        words, lines = yaml_lines.parse(text, "plan.yaml")
        load.plan_from_words(words, load.Where("plan.yaml", lines, {"sizes": "--size"}))
    except PlanError:
        pass
    for word in text.split()[:6]:
        for unit in (q.size_bytes, q.duration_s, q.rate_bps, q.rate_pps, q.fraction, lambda w: q.count(w, "threads", 16)):
            try:
                value = unit(word[:40])
            except ValueError:
                continue
            q.spoken(float(value))
            if unit is q.size_bytes and q.size_bytes(q.format_bytes(value)) != value:
                raise AssertionError(f"{word} is written as {q.format_bytes(value)}")


def fuzz(arguments: list[str]) -> None:
    """The child: libFuzzer's loop; never returns."""
    import atheris

    with atheris.instrument_imports(include=["dpubench", "yaml"]):
        from dpubench.plans import load, quantities  # noqa: F401

    atheris.Setup([sys.argv[0], *arguments], parse)
    atheris.Fuzz()


def coverage_of(corpus: Path) -> float:
    """Percent of the lines of ``dpubench/plans`` that replaying ``corpus`` runs; prints the report."""
    import coverage

    measured = coverage.Coverage(source_pkgs=["dpubench.plans"], data_file=None, config_file=False)
    measured.start()
    for file in sorted(corpus.iterdir()):
        parse(file.read_bytes())
    measured.stop()
    return measured.report(show_missing=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--keep", action="store_true", help="add what was found to the corpus")
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.replay is not None:
        return replayed(chosen.replay)
    if chosen.child is not None:
        fuzz(chosen.child)
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found"
        found.mkdir()
        words = Path(folder) / "words"
        words.write_text("".join(f'"{w}"\n' for w in dictionary()))
        corpora = [str(found), *([str(chosen.corpus)] if chosen.corpus.is_dir() else [])]
        limits = [
            f"-max_total_time={chosen.seconds}",
            "-timeout=10",
            "-max_len=2048",
            f"-dict={words}",
            f"-seed_inputs={seeds()}",
            f"-artifact_prefix={folder}/",
        ]
        if find_spec("atheris") is None:
            print("atheris is not installed here: nothing new is searched for, the kept corpus is replayed")
            return replayed(chosen.corpus)
        child = [sys.executable, str(Path(__file__).resolve()), "--child", *limits, *corpora]
        status = subprocess.run(child, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=False).returncode
        if status != 0:
            for crash in sorted(Path(folder).glob("*-*")):
                print(f"broke on {crash.name}: {crash.read_bytes()!r}")
            return 1
        if chosen.keep:
            chosen.corpus.mkdir(parents=True, exist_ok=True)
            for file in found.iterdir():
                (chosen.corpus / file.name).write_bytes(file.read_bytes())
        for file in chosen.corpus.iterdir() if chosen.corpus.is_dir() else []:
            (found / file.name).write_bytes(file.read_bytes())
        # A process of its own: lines that run at import count too.
        replay = [sys.executable, str(Path(__file__).resolve()), "--replay", str(found)]
        return subprocess.run(replay, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=False).returncode


def replayed(corpus: Path) -> int:
    """Prints the line coverage that ``corpus`` reaches; 1 when it is too low."""
    covered = coverage_of(corpus)
    print(f"line coverage of dpubench.plans: {covered:.1f} % (at least {LEAST_COVERAGE:g} %)")
    return 0 if covered >= LEAST_COVERAGE else 1


def seeds() -> str:
    """The built-in plans, from which the fuzzer starts."""
    return ",".join(str(p) for p in sorted(PACKAGE.glob("dpubench/studies/*/*.yaml")))


def dictionary() -> list[str]:
    """Keys, words and units of plans, so that the fuzzer need not guess them letter by letter."""
    from dpubench.plans.model import Rounds
    from dpubench.studies.operators.plan import Cycles, Exclude, Plan, Window

    keys = {f"{name}:" for part in (Plan, Rounds, Cycles, Window, Exclude) for name in part.model_fields}
    values = {
        "operators",
        "all",
        "default",
        "grid",
        "best-and-reference",
        "stream",
        "resident",
        "1500B",
        "64KiB",
        "3min",
        "5%",
        "200ms",
        "25Gb/s",
        "2Mpps",
    }
    return sorted(
        keys
        | values
        | {
            "{",
            "}",
            "[",
            "]",
            "- ",
            "&a ",
            "*a",
            "!!int ",
            "<<",
            "1",
            "0",
            "-1",
            "!!python/name:x",
            "!!set",
            "2026-11-21",
            "? ",
            "!!float",
            "90s",
            "2h",
            "1us",
            "params: {mode: gcm}",
            "rounds: {min: 9, max: 3}",
        }
    )


if __name__ == "__main__":
    sys.exit(main())
