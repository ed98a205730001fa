"""Run clang-tidy on the native sources, except on those that it found clean before. Usage: tidy.py BUILD_FOLDER SOURCE...

A source that is clean leaves a stamp in the cache: the digest of the source, of every header that its objects were compiled from, of their
compile commands, of .clang-tidy and of clang-tidy's version. While none of these changes, the source is not checked again. The build must be
up to date, since Ninja's record of its objects names the headers (those that the build's compiler read).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOOL = "clang-tidy-14"
#: Stamps that nobody asked for in so long are removed.
KEPT_S = 60 * 24 * 3600
#: One source. A template-heavy one takes half a minute on a slow core.
LIMIT_S = 600


@dataclass(frozen=True)
class Unit:
    """A source, and the name of its stamp: empty for one that is not compiled here, whose headers nobody knows."""

    source: Path
    key: str
    bytes: int  #: of all that it includes, by which the largest are begun first


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
        parts.setdefault(source, [common]).extend([entry["command"], digest_of(source)[0], *(digest for digest, _ in known)])
        sizes[source] = sizes.get(source, 0) + sum(size for _, size in known)
    keys = {source: hashlib.sha256("\n".join(of).encode()).hexdigest() for source, of in parts.items() if source not in unknown}
    return [Unit(source, keys.get(source, ""), sizes.get(source, 0)) for source in sorted(sources)]


def findings(build: Path, unit: Unit) -> str:
    """Return what clang-tidy says of a source; empty when it is clean."""
    try:
        done = subprocess.run(
            [TOOL, "-p", build, "--quiet", "--warnings-as-errors=*", unit.source], capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"{unit.source}: {TOOL} did not end within {LIMIT_S} s\n"
    if done.returncode == 0:
        return ""
    said = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.endswith(("generated.", "treated as errors"))]
    return "\n".join(said or [f"{unit.source}: {TOOL} ended with status {done.returncode}"]) + "\n"


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
    common = version + digest_of(Path(".clang-tidy").resolve())[0]
    sources = {source.resolve() for source in given.sources}
    units = units_of(given.build, sources, common)
    folder = stamps()
    owing = sorted((u for u in units if not u.key or not (folder / u.key).exists()), key=lambda u: -u.bytes)
    for unit in units:
        if unit not in owing:
            os.utime(folder / unit.key)
    failed = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            for unit, said in zip(owing, pool.map(lambda u: findings(given.build, u), owing), strict=True):
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
