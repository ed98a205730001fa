"""Run clang-tidy on the native sources, except on those that it found clean before. Usage: tidy.py BUILD_FOLDER SOURCE...

Sources with the same compile command are checked together, some in one translation unit, because most of the time goes into the headers that they
share. If clang-tidy finds anything in such a unit, or the sources cannot be compiled together, each of them is checked by itself, and that decides.

A source that is clean leaves a stamp in the cache: the digest of the source, of every header that its objects were compiled from, of their
compile commands, of .clang-tidy and of clang-tidy's version. While none of these changes, the source is not checked again. The build must be
up to date, since Ninja's record of its objects names the headers (those that the build's compiler read).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOOL = "clang-tidy-14"
#: Stamps that nobody asked for in so long are removed.
KEPT_S = 60 * 24 * 3600
#: One source, or some together. A template-heavy one takes half a minute on a slow core.
LIMIT_S = 600
#: Most sources that are checked together.
TOGETHER = 8
#: Clang's own warnings are faults too, whether the build takes warnings for errors or not; options that only GCC knows are none.
STRICT = ("-Werror", "-Wno-unknown-warning-option")


@dataclass(frozen=True)
class Unit:
    """A source, and the name of its stamp: empty for one that is not compiled here, whose headers nobody knows."""

    source: Path
    key: str
    bytes: int  #: of all that it includes, by which the largest are begun first
    command: tuple[str, ...] = ()  #: compile command without source and outputs; empty if there is none, or more than one
    folder: Path = Path()  #: where the command runs


@cache
def digest_of(path: Path) -> tuple[str, int]:
    """Return the digest and the size of a file. @raises OSError"""
    content = path.read_bytes()
    return hashlib.sha256(content).hexdigest(), len(content)


def headers_of(build: Path) -> dict[str, list[str]]:
    """Return, per object, the files that it was compiled from, as Ninja recorded them. @raises subprocess.CalledProcessError"""
    found: dict[str, list[str]] = {}
    name = ""
    for line in subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("    "):
            found[name].append(line.strip())
        elif line and ": #deps" in line:
            name = line.split(": #deps")[0]
            found[name] = []
    return found


def units_of(build: Path, sources: set[Path], common: str) -> list[Unit]:
    """Return the units of ``sources``. Several objects of a source count together, since clang-tidy checks it with every command."""
    headers = headers_of(build)
    parts: dict[Path, list[str]] = {}
    sizes: dict[Path, int] = {}
    commands: dict[Path, list[tuple[tuple[str, ...], Path]]] = {}
    unknown = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        folder = Path(entry["directory"])
        source = (folder / entry["file"]).resolve()
        if source not in sources:
            continue
        files = headers.get(entry.get("output", ""), [])
        if not files:
            unknown.add(source)
        known = [digest_of((folder / file).resolve()) for file in sorted(files)]
        commands.setdefault(source, []).append((without_files(entry), folder))
        command = entry["command"].replace(" -Werror ", " ")  # which STRICT adds anyway
        parts.setdefault(source, [common]).extend([command, digest_of(source)[0], *(digest for digest, _ in known)])
        sizes[source] = sizes.get(source, 0) + sum(size for _, size in known)
    keys = {source: hashlib.sha256("\n".join(of).encode()).hexdigest() for source, of in parts.items() if source not in unknown}
    found = []
    for source in sorted(sources):
        command, folder = commands[source][0] if len(commands.get(source, [])) == 1 else ((), Path())
        found.append(Unit(source, keys.get(source, ""), sizes.get(source, 0), command, folder))
    return found


def without_files(entry: dict[str, str]) -> tuple[str, ...]:
    """Return the words of a compile command without the source and the files that it writes."""
    words, kept = iter(shlex.split(entry["command"])), []
    for word in words:
        if word in ("-o", "-MF", "-MQ", "-MT"):
            next(words, None)
        elif word not in (entry["file"], "-c", "-MD", "-MMD"):
            kept.append(word)
    return tuple(kept)


def groups_of(units: list[Unit]) -> list[list[Unit]]:
    """Return ``units`` in groups of the same command, of TOGETHER at most, and the largest groups first."""
    alike: dict[tuple[str, ...], list[Unit]] = {}
    alone = []
    for unit in units:
        if unit.command and unit.key:
            alike.setdefault((*unit.command, str(unit.folder)), []).append(unit)
        else:
            alone.append([unit])
    groups = [of[i : i + TOGETHER] for of in alike.values() for i in range(0, len(of), TOGETHER)]
    return sorted(groups + alone, key=lambda group: -sum(unit.bytes for unit in group))


def checked(build: Path, group: list[Unit]) -> list[str]:
    """Return what clang-tidy says of each source of a group; empty for one that is clean."""
    if len(group) > 1 and are_clean_together(group):
        return [""] * len(group)
    return [findings(build, unit.source) for unit in group]


def are_clean_together(group: list[Unit]) -> bool:
    """Return whether clang-tidy finds nothing in a translation unit of all sources of a group."""
    with tempfile.TemporaryDirectory(prefix="dpubench-tidy-") as name:
        place = Path(name)
        whole = place / "together.cpp"
        # Sources that are included would be spared by clang-analyzer, which looks into the main file alone.
        whole.write_text("\n".join(unit.source.read_text(encoding="utf-8") for unit in group), encoding="utf-8")
        folders = [word for folder in dict.fromkeys(unit.source.parent for unit in group) for word in ("-iquote", str(folder))]
        command = shlex.join([*group[0].command, *folders, "-c", str(whole)])
        entry = {"directory": str(group[0].folder), "command": command, "file": str(whole)}
        (place / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
        # A unit in another folder has no .clang-tidy above it.
        return not findings(place, whole, f"--config-file={Path('.clang-tidy').resolve()}")


def findings(build: Path, source: Path, *options: str) -> str:
    """Return what clang-tidy says of a source; empty when it is clean. ``build`` is the folder of its compile command."""
    try:
        done = subprocess.run(
            [TOOL, "-p", build, "--quiet", "--warnings-as-errors=*", *(f"--extra-arg={word}" for word in STRICT), *options, source],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return f"{source}: {TOOL} did not end within {LIMIT_S} s\n"
    if done.returncode == 0:
        return ""
    said = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.endswith(("generated.", "treated as errors"))]
    return "\n".join(said or [f"{source}: {TOOL} ended with status {done.returncode}"]) + "\n"


def stamps() -> Path:
    """Return the folder of the stamps, without those that nobody asked for in a long time."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpubench" / TOOL
    folder.mkdir(parents=True, exist_ok=True)
    oldest = time.time() - KEPT_S
    for stamp in folder.iterdir():
        if stamp.stat().st_mtime < oldest:
            stamp.unlink(missing_ok=True)
    return folder


def main() -> int:
    """Check the sources; return 0 when all are clean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    given = parser.parse_args()
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    common = version + " ".join(STRICT) + digest_of(Path(".clang-tidy").resolve())[0]
    sources = {source.resolve() for source in given.sources}
    units = units_of(given.build, sources, common)
    folder = stamps()
    owing = [u for u in units if not u.key or not (folder / u.key).exists()]
    groups = groups_of(owing)
    for unit in units:
        if unit not in owing:
            os.utime(folder / unit.key)
    failed = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            for group, of_all in zip(groups, pool.map(lambda group: checked(given.build, group), groups), strict=True):
                for unit, said in zip(group, of_all, strict=True):
                    if said:
                        failed += 1
                        sys.stdout.write(said)
                    elif unit.key:
                        (folder / unit.key).touch()
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("tidy: interrupted; what was found clean so far is kept", file=sys.stderr)
            return 130
    print(f"{TOOL}: {len(units)} sources, {len(units) - len(owing)} clean before and unchanged, {failed} with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
