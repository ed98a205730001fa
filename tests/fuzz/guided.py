"""The common part of the fuzzers in Python: coverage-guided search (atheris) in a child process, replay, and the reached lines.

A fuzzer is a script that defines one input and calls :func:`main`. Its corpus is the folder of the same name in ``corpus``. If atheris is not
installed (PyPI has it only for x86-64), this module only replays the corpus and the seeds, and prints that.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from unicodedata import bidirectional, category

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
#: Most files of a corpus.
MOST_KEPT = 480

sys.path.insert(0, str(PACKAGE))


@dataclass(frozen=True)
class Fuzzer:
    """A fuzzer: its target, search and limits."""

    name: str  #: name of the fuzzer and of its corpus
    one_input: Callable[[bytes], None]  #: runs one input; raises on a fault
    imports: Callable[[], None]  #: imports the target, so that its branches are watched
    watched: tuple[str, ...]  #: packages whose branches guide the search
    covered: tuple[str, ...]  #: modules or packages whose lines must run
    least_percent: float
    seeds: Callable[[], Iterable[tuple[str, bytes]]]
    dictionary: Callable[[], Iterable[str]] = lambda: ()
    max_length: int = 2048

    @property
    def corpus(self) -> Path:
        return HERE / "corpus" / self.name


def main(fuzzer: Fuzzer, script: str) -> int:
    """Fuzz for --seconds; return 1 if an input broke something, or too few lines ran."""
    parser = argparse.ArgumentParser(description=f"Fuzzes {fuzzer.name}.")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true", help="add to the corpus what reaches more")
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.replay is not None:
        return _replayed(fuzzer, chosen.replay)
    if chosen.child is not None:
        _fuzz(fuzzer, chosen.child)
    # Use memory if /dev/shm exists, because a target may write files for each input.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dpubench-fuzz-", dir=memory) as folder:
        place = Path(folder)
        # The child's files lie here too, because libFuzzer's loop ends without any cleanup.
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TMPDIR": folder}
        found, started = place / "found", place / "started"
        for made in (found, started):
            made.mkdir()
        for name, content in fuzzer.seeds():
            (started / name).write_bytes(content)
        kept = fuzzer.corpus if fuzzer.corpus.is_dir() else started
        status = 0
        if find_spec("atheris") is None:
            print("atheris is not installed here: nothing new is searched for, what is kept is replayed")
        else:
            status = _search(fuzzer, script, chosen.seconds, place, [found, started, kept], environment)
        if status != 0:
            return 1
        if chosen.keep:
            _keep(fuzzer, found)
        for source in {started, kept}:
            for file in source.iterdir():
                (found / file.name).write_bytes(file.read_bytes())
        # Replay in a separate process, so that lines that run at import count too.
        return subprocess.run([sys.executable, script, "--replay", str(found)], env=environment, check=False).returncode


def _search(fuzzer: Fuzzer, script: str, seconds: int, place: Path, folders: Sequence[Path], environment: dict[str, str]) -> int:
    words = place / "words"
    words.write_text("".join(f'"{word}"\n' for word in fuzzer.dictionary()))
    limits = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", f"-max_len={fuzzer.max_length}", f"-artifact_prefix={place}/"]
    limits += [f"-dict={words}"] if words.stat().st_size else []
    child = [sys.executable, script, "--child", *limits, *dict.fromkeys(map(str, folders))]
    status = subprocess.run(child, env=environment, check=False).returncode
    for crash in sorted(place.glob("*-*")) if status else []:
        print(f"broke on {crash.name}: {crash.read_bytes()[:4000]!r}")
    return status


def _keep(fuzzer: Fuzzer, found: Path) -> None:
    """Add the inputs that the search found to the corpus, smallest first, up to MOST_KEPT files."""
    fuzzer.corpus.mkdir(parents=True, exist_ok=True)
    room = MOST_KEPT - len(list(fuzzer.corpus.iterdir()))
    kept = sorted(found.iterdir(), key=lambda file: (file.stat().st_size, file.name))[: max(room, 0)]
    for file in kept:
        (fuzzer.corpus / file.name).write_bytes(file.read_bytes())
    print(f"corpus: {len(kept)} files added to {fuzzer.name}")


def _fuzz(fuzzer: Fuzzer, arguments: list[str]) -> None:
    """Run libFuzzer's loop in the child; never return."""
    import atheris

    with atheris.instrument_imports(include=list(fuzzer.watched)):
        fuzzer.imports()
    atheris.Setup([sys.argv[0], *arguments], fuzzer.one_input)
    atheris.Fuzz()


def _replayed(fuzzer: Fuzzer, corpus: Path) -> int:
    """Print the line coverage that ``corpus`` reaches; return 1 when it is too low."""
    import coverage

    measured = coverage.Coverage(source_pkgs=list(fuzzer.covered), data_file=None, config_file=False)
    measured.start()
    for file in sorted(corpus.iterdir()):
        fuzzer.one_input(file.read_bytes())
    measured.stop()
    covered = measured.report(show_missing=True)
    print(f"line coverage of {', '.join(fuzzer.covered)}: {covered:.1f} % (at least {fuzzer.least_percent:g} %)")
    return 0 if covered >= fuzzer.least_percent else 1


def controls(text: str) -> list[str]:
    """Return the characters of ``text`` that control a terminal or turn the direction of writing (Unicode categories, bidirectional classes)."""
    turning = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
    return [c for c in text if c not in "\t\n" and (category(c) in ("Cc", "Cs", "Zl", "Zp") or bidirectional(c) in turning)]


def files(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield seeds from files elsewhere."""
    for path in paths:
        yield "-".join(path.parts[-2:]), path.read_bytes()
