#!/usr/bin/env python3
"""Fuzzes one parser, replays its corpus, and prints the share of the parser's lines that the inputs cover.

    python3 tests/fuzz/run.py TARGET SECONDS [--update-corpus]

Exit status: 0 when nothing was found and at least 90 % of the lines are covered; 1 when the fuzzer found a fault (the input is
kept and named) or coverage is lower; 2 when a tool is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from platform import machine

from seeds import write_seeds

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests" / "fuzz"
REQUIRED_PERCENT = 90.0
CORPUS_FILES = 600
CORPUS_BYTES = 300 * 1024


@dataclass(frozen=True)
class Target:
    """The files and options from which a fuzz target is built."""

    covered: tuple[str, ...]
    """Source files whose lines must be covered."""
    sources: tuple[str, ...] = ()
    """Further source files that they need."""
    flags: tuple[str, ...] = ()
    """Further compiler and linker flags."""
    max_length: int = 4096
    """Bytes of an input; longer ones slow the fuzzer down and find no more."""
    options: tuple[str, ...] = ()
    """Further options of the fuzzer."""
    required_percent: float = REQUIRED_PERCENT
    """Of the lines of each covered file; less where the rest is what a system refuses, which no input can make it do."""


#: Flags for the headers of DPDK.
DPDK = (
    *("-isystem", "/usr/include/dpdk", "-isystem", f"/usr/include/{machine()}-linux-gnu/dpdk"),
    *(["-mssse3"] if machine() == "x86_64" else []),
)

TARGETS: dict[str, Target] = {
    "agent": Target(
        covered=("native/agent/connection.cpp", "native/agent/serve.cpp", "native/agent/store.cpp"),
        # No program starts here, so that little of programs.cpp is reached.
        sources=(
            "native/agent/describe.cpp",
            "native/agent/helper.cpp",
            "native/agent/process.cpp",
            "native/agent/programs.cpp",
            "native/agent/supervised.cpp",
            "native/inputs/digest.cpp",
        ),
        max_length=2048,
        required_percent=75.0,
    ),
    "applications": Target(
        covered=(
            "native/packet/http.cpp",
            "native/packet/stream.cpp",
            "native/packet/url.cpp",
            "native/applications/ips/literals.cpp",
            "native/applications/ipsec/esp.cpp",
            "native/applications/l3-forwarding/router.cpp",
        ),
        sources=("native/packet/ip.cpp", "native/packet/link_layer.cpp"),
        flags=("-lcrypto",),
        max_length=1024,
        options=("-malloc_limit_mb=512",),  # for a router's table, which is made once
    ),
    "codecs": Target(
        covered=(
            "native/operators/support/codecs/deflate_decompress.cpp",
            "native/operators/support/codecs/deflate_compress.cpp",
            "native/operators/support/codecs/huffman_code.cpp",
            "native/operators/support/codecs/lz4_block.cpp",
            "native/operators/support/codecs/snappy_format.cpp",
        ),
        flags=("-lz", "-llz4"),
    ),
    "jobs": Target(
        covered=("native/headroom/job.cpp", "native/link/job.cpp"),
        sources=(
            "native/link/protection.cpp",
            "native/link/kernel_tls.cpp",
            "native/link/no_tls.cpp",
            "native/link/socket.cpp",
            "native/link/watch.cpp",
            "native/protocol/commands.cpp",
            "native/protocol/reader.cpp",
            "native/base/params.cpp",
        ),
        flags=DPDK,
    ),
    "programs": Target(
        covered=("native/datapath/job.cpp",),
        sources=("native/protocol/reader.cpp", "native/base/params.cpp"),
        flags=DPDK,
    ),
    "a64": Target(
        covered=("native/cores/a64/decode.cpp",),
        sources=tuple(f"native/cores/a64/{group}.cpp" for group in ("control", "float", "integer", "memory", "structure", "vector")),
        max_length=256,
    ),
    "capture": Target(
        covered=("native/inputs/capture.cpp", "native/packet/link_layer.cpp", "native/packet/ip.cpp"), sources=("native/inputs/file.cpp",)
    ),
    "prefixes": Target(covered=("native/inputs/prefixes.cpp",), sources=("native/inputs/file.cpp",)),
    "job": Target(covered=("native/protocol/job.cpp", "native/protocol/reader.cpp"), sources=("native/base/params.cpp",)),
    "frame": Target(covered=("native/packet/frame.cpp",), max_length=1024),
    "reassembly": Target(covered=("native/packet/reassembly.cpp",), sources=("native/base/keyed_hash.cpp",), max_length=1024),
    "rules": Target(covered=("native/inputs/rules.cpp",), sources=("native/inputs/file.cpp",), max_length=1024),
    "trace": Target(
        covered=("native/cores/trace/reader.cpp", "native/cores/trace/block_table.cpp", "native/cores/trace/compressed_file.cpp"),
        flags=("-lzstd", "-I", str(ROOT / "tests" / "cores")),
        max_length=1024,
    ),
}

SANITIZED = ("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-O1")
INSTRUMENTED = ("-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping", "-O0")


def names() -> list[str]:
    """Return the names of all fuzzers: first those of this file, which are the slowest to build, then the scripts beside it."""
    return [*sorted(TARGETS), *sorted(file.stem.removesuffix("_fuzz") for file in FUZZ.glob("*_fuzz.py"))]


def tool(name: str) -> str:
    """Return the path of an LLVM tool, under its own name or with a version. Exit with status 2 when there is none."""
    for candidate in (f"{name}-14", name, *(f"{name}-{version}" for version in range(20, 14, -1))):
        path = shutil.which(candidate)
        if path:
            return path
    print(f"run.py: {name} is not installed; on Debian: apt install clang llvm", file=sys.stderr)
    sys.exit(2)


def compile_target(name: str, target: Target, kind: tuple[str, ...], binary: Path) -> None:
    """Build the target unless nothing changed since the last build."""
    sources = [FUZZ / f"{name}_fuzz.cpp", *(ROOT / source for source in (*target.covered, *target.sources))]
    launcher = [path] if (path := shutil.which("ccache")) else []
    common = [tool("clang++"), "-std=c++20", "-g", *kind, "-I", str(ROOT / "native"), "-I", str(FUZZ), *target.flags]
    objects = []
    for source in sources:
        # Compile one object at a time, so that a compiler cache can serve unchanged ones.
        # Files in two folders may have one name.
        objects.append(binary.with_name(f"{binary.name}.{'-'.join(source.relative_to(ROOT).with_suffix('').parts)}.o"))
        subprocess.run([*launcher, *common, "-c", str(source), "-o", str(objects[-1])], check=True)
    subprocess.run([*common, *map(str, objects), "-o", str(binary)], check=True)


def line_coverage(name: str, target: Target, binary: Path, inputs: list[Path]) -> dict[str, tuple[int, int]]:
    """Return covered lines and all lines of each source file that must be covered, over all inputs."""
    raw, merged = binary.with_suffix(".profraw"), binary.with_suffix(".profdata")
    subprocess.run(
        [str(binary), "-runs=0", f"-max_len={target.max_length}", *target.options, *map(str, inputs)],
        check=True,
        env={**os.environ, "LLVM_PROFILE_FILE": str(raw)},
        stderr=subprocess.DEVNULL,
    )
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", str(raw), "-o", str(merged)], check=True)
    sources = [str(ROOT / source) for source in target.covered]
    command = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", str(binary), *sources]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found = {entry["filename"]: entry["summary"]["lines"] for entry in report["data"][0]["files"]}
    missing = [source for source in sources if source not in found]
    if missing:
        raise RuntimeError(f"{name}: llvm-cov does not know {missing}")
    return {source: (found[source]["covered"], found[source]["count"]) for source in sources}


def update_corpus(target: Target, binary: Path, inputs: list[Path], corpus: Path) -> None:
    """Replace the corpus by the smallest set of inputs that reaches as much."""
    fresh = corpus.with_name(corpus.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    command = [str(binary), "-set_cover_merge=1", f"-max_len={target.max_length}", *target.options, str(fresh), *map(str, inputs)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    files = sorted(fresh.iterdir(), key=lambda file: (file.stat().st_size, file.name))
    kept, size = 0, 0
    for file in files:
        size += file.stat().st_size
        if kept == CORPUS_FILES or size > CORPUS_BYTES:
            file.unlink()
        else:
            kept += 1
    shutil.rmtree(corpus, ignore_errors=True)
    fresh.rename(corpus)
    print(f"corpus: {kept} of {len(files)} files kept in {corpus.relative_to(ROOT)}")


def main() -> int:
    """Build, fuzz, replay and report. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="version", version="\n".join(names()), help="print the names of all fuzzers, those in Python too")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("seconds", type=int, help="of fuzzing; 0 only replays the corpus")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--update-corpus", action="store_true", help="replace the corpus by a minimised one")
    arguments = parser.parse_args()
    name: str = arguments.target
    target = TARGETS[name]
    work: Path = arguments.build_dir.resolve() / name
    found, seeds, corpus = work / "found", work / "seeds", FUZZ / "corpus" / name
    for directory in (found, seeds, corpus):
        directory.mkdir(parents=True, exist_ok=True)
    write_seeds(name, seeds)

    sanitized, instrumented = work / f"{name}_fuzz", work / f"{name}_coverage"
    compile_target(name, target, SANITIZED, sanitized)
    compile_target(name, target, INSTRUMENTED, instrumented)

    # These limits check a promise of the parsers: they allocate nothing just because an input claims to be large.
    limits = ["-malloc_limit_mb=64", "-rss_limit_mb=1024", "-timeout=5", f"-max_len={target.max_length}", f"-artifact_prefix={work}/"]
    length = [f"-max_total_time={arguments.seconds}"] if arguments.seconds > 0 else ["-runs=0"]
    inputs = [found, seeds, corpus]
    status = subprocess.run([str(sanitized), *limits, *length, *target.options, "-print_final_stats=1", *map(str, inputs)], check=False)
    if status.returncode != 0:
        print(f"{name}: the fuzzer found a fault (status {status.returncode}); its input is in {work}", file=sys.stderr)
        return 1
    if arguments.update_corpus:
        update_corpus(target, sanitized, inputs, corpus)

    passed = True
    for label, replayed in (("corpus", [corpus]), ("corpus and what was found now", inputs)):
        if not any(any(directory.iterdir()) for directory in replayed):
            continue
        for source, (covered, lines) in line_coverage(name, target, instrumented, replayed).items():
            percent = 100.0 * covered / lines
            passed = passed and percent >= target.required_percent
            print(f"{name}: {Path(source).relative_to(ROOT)}: {covered} of {lines} lines, {percent:.1f} % ({label})")
    if not passed:
        print(f"{name}: less than {target.required_percent:.0f} % of the lines are covered; add seeds or fuzz longer", file=sys.stderr)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
