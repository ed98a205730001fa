"""Tests of anchors with the real programs: save, find, measure against and remove builds; faults are reported; nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import anchors, schemas, scratch
from dpubench.errors import UserError
from dpubench.studies.operators.comparison import compare_builds
from dpubench.studies.operators.summary import summarize
from real_program import BUILD, RealBench

SHORT = ("--operator", "crc", "--engine", "portable,isal", "--rounds", "3", "--set", "cycles.min=3", "--set", "cycles.max=3")


@pytest.fixture
def kept(real: RealBench, monkeypatch: pytest.MonkeyPatch) -> RealBench:
    """Return a bench with a small build in its folder and its own home for anchors."""
    small = real.folder / "small"
    (small / "engines").mkdir(parents=True)
    for name in ("dpubench-operators", "dpubench-agent", "libdpubench-core.so", "engines/sha256__portable.so", "engines/crc__portable.so"):
        shutil.copy2(BUILD / name, small / name)
    real.environment |= {"XDG_DATA_HOME": str(real.folder / "data"), "DPUBENCH_PROGRAMS": str(small)}
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "DPUBENCH_PROGRAMS"):
        monkeypatch.setenv(name, real.environment[name])
    return real.watched()


def files() -> list[str]:
    return sorted(f.name for f in anchors.directory().iterdir())


def test_a_build_is_kept_and_a_later_one_alternates_with_it(kept: RealBench) -> None:
    plan = kept.plan(operators=["sha256"], sizes=["256B"])
    assert kept("anchor", "save", "--plan", plan, "--note", "before").returncode == 0
    known = json.loads(kept("anchor", "list", "--json").stdout)
    assert [(a["name"], a["note"], a["architecture"]) for a in known] == [("default", "before", os.uname().machine)]
    assert Path(known[0]["path"]).is_file() and known[0]["revision"]
    done = kept("run", "--against", "anchor", "--name", "r")  # the plan comes from the anchor too: no study is named
    assert done.returncode == 0, done.stderr
    assert "the plan comes from anchor 'default'" in done.stderr and "against anchor 'default' (saved " in done.stdout
    record = kept.record("r")
    assert not schemas.fault("run", record)
    assert {p["id"] for p in record["points"]} == {f"sha256/size=256/t1/b32/stream/portable{build}" for build in ("", "#against")}
    assert record["setting"]["anchor"]["sha256"] == known[0]["sha256"] and record["builds"]["against"]["path"].endswith("/run")
    assert kept.half_made() == []
    kept.ended()


def test_it_stays_what_it_was_when_the_build_changes(kept: RealBench) -> None:
    before = anchors.save("old")
    (kept.folder / "small/engines/crc__portable.so").unlink()
    program = anchors.program(anchors.find("old"))
    assert (program.parent / "lib/engines/crc__portable.so").is_file()
    after = anchors.save("new")
    assert after.sha256 != before.sha256 and len(files()) == 5  # two records, two bundles, the lock
    anchors.remove("old")
    assert files() == sorted(["lock", "new.json", f"{after.sha256}.tar.gz"])
    again = anchors.save("old")
    module = anchors.program(again).parent / "lib/engines/sha256__portable.so"
    module.write_bytes(b"")  # somebody tidied the cache
    assert anchors.program(again).is_file() and module.stat().st_size > 0
    shutil.rmtree(Path(kept.environment["XDG_CACHE_HOME"]) / "dpubench/unpacked" / before.sha256)
    with pytest.raises(UserError, match="anchor 'old' was removed or replaced"):
        anchors.again({"name": "old", "sha256": before.sha256})
    assert anchors.again({"name": "another", "sha256": again.sha256}).sha256 == again.sha256


def test_saving_at_the_same_time_leaves_one_whole_anchor_and_nothing_else(kept: RealBench) -> None:
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: kept("anchor", "save", "ci"), range(3)))
    assert [done.returncode for done in made] == [0, 0, 0], made
    anchor = anchors.find("ci")
    assert files() == sorted(["lock", "ci.json", f"{anchor.sha256}.tar.gz"])
    assert anchors.program(anchor).is_file()


def test_a_save_that_is_interrupted_leaves_the_old_anchor(kept: RealBench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = anchors.save("ci")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scratch, "write", interrupted)
    (kept.folder / "small/engines/crc__portable.so").unlink()
    with pytest.raises(KeyboardInterrupt):
        anchors.save("ci")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", kept.environment["XDG_DATA_HOME"])
    assert anchors.find("ci") == before and anchors.program(before).is_file()
    assert not [name for name in files() if name.startswith(".")]


def test_what_is_wrong_with_an_anchor_is_said(kept: RealBench) -> None:
    def refused(name: str) -> str:
        with pytest.raises(UserError) as caught:
            anchors.program(anchors.find(name))
        return str(caught.value)

    assert "there is no anchor 'default'; none is saved yet: save a build with `dpubench anchor save`" in refused("default")
    anchor = anchors.save("main")
    assert "did you mean 'main'?" in refused("maim")
    data = anchor.bundle.read_bytes()
    anchor.bundle.write_bytes(data[: len(data) // 2])
    assert "the bundle of anchor 'main' has changed: its SHA-256 differs" in refused("main")
    done = kept("run", *SHORT, "--against", "anchor:main")
    assert done.returncode == 1 and "its SHA-256 differs" in done.stderr and not (kept.folder / "results").exists(), done
    anchor.bundle.unlink()
    assert "the bundle of anchor 'main' is gone" in refused("main")
    record = anchors.directory() / "main.json"
    other = "aarch64" if anchor.architecture == "x86_64" else "x86_64"
    record.write_text(record.read_text().replace(f'"{anchor.architecture}"', f'"{other}"'))
    assert f"anchor 'main': it is for {other}, but this machine is {anchor.architecture}" in refused("main")
    record.write_text("{")
    assert "the record of this anchor cannot be read" in refused("main")
    assert "there is no anchor '../main'" in refused("../main")
    with pytest.raises(UserError, match="invalid name: use at most 63 letters"):
        anchors.save("../x")
    assert kept.half_made() == []


def test_a_regression_is_an_exit_status(bench: Bench) -> None:
    """Both programs are scripted, and one has a slower engine."""
    slower = bench.folder / "slower"
    slower.mkdir()
    script = bench.folder / "slower.json"
    script.write_text(json.dumps({"rates": {"isal": 4e6}}))
    program = slower / "dpubench-operators"
    program.write_text(f'#!/bin/sh\nSCRIPT={script} exec {bench.programs / "dpubench-operators"} "$@"\n')
    program.chmod(0o755)
    bench.environment["DPUBENCH_PROGRAMS"] = str(slower)
    done = bench("run", *SHORT, "--against", str(bench.programs), "--fail-on", "regression", "--name", "slow")
    assert done.returncode == 3, done
    assert "against the other build: 1 slower, 1 same" in done.stdout and "slower: crc/size=1024/t1/b32/stream/isal -2" in done.stdout
    streamed = bench("run", *SHORT, "--against", str(bench.programs), "--fail-on", "regression", "--min-effect", "40%", "--json")
    assert streamed.returncode == 0
    assert {row["verdict"] for row in json.loads(streamed.stdout.splitlines()[-1])["comparison"]} <= {"same", "undecided"}
    assert bench("compare", "slow", "--fail-on", "regression").returncode == 3


def test_what_an_older_build_lacks_is_not_compared_and_no_failure(bench: Bench) -> None:
    """The older build lacks an engine of crc, and its aes does other work."""
    older = bench.folder / "older"
    older.mkdir()
    script = bench.folder / "older.json"
    script.write_text(json.dumps({"unavailable": {"isal": "no ISA-L then"}, "versions": {"aes": 7}}))
    program = older / "dpubench-operators"
    program.write_text(f'#!/bin/sh\nSCRIPT={script} exec {bench.programs / "dpubench-operators"} "$@"\n')
    program.chmod(0o755)
    done = bench("run", "--operator", "crc,aes", "--param", "mode=gcm", *SHORT[2:], "--against", str(older), "--fail-on", "regression", "--name", "r")
    assert done.returncode == 0, done
    rows = {row.configuration.split("/")[0] + row.configuration[-8:]: row for row in compare_builds(summarize(bench.results / "r"), 0.03)}
    assert rows["crcportable"].verdict == "same" or rows["crcportable"].verdict == "undecided"
    assert "the other build cannot run this engine: no ISA-L then" in next(r.reason for r in rows.values() if r.configuration.endswith("isal"))
    assert "the operator's version differs (1, in the other build 7)" in rows["aesportable"].reason


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--fail-on", "regression"], "the run has nothing to compare with: add --against anchor"),
        (["--fail-on", "rain", "--against", "anchor"], "only 'regression' is known"),
        (["--fail-on", "regression", "--against", "programs", "--min-effect", "much"], "--min-effect much: "),
        (["end-to-end", "--against", "programs"], "study 'end-to-end' has no such option"),
    ],
)
def test_senseless_gates_are_refused(bench: Bench, words: list[str], reason: str) -> None:
    bench.environment["XDG_DATA_HOME"] = str(bench.folder / "data")
    done = bench("run", *words)
    assert done.returncode == 2 and reason in done.stderr, done


def test_the_word_anchor_is_an_anchor_and_a_path_a_path(tmp_path: Path) -> None:
    assert [anchors.name_of(word) for word in ("anchor", "anchor:x", "anchor:", "./anchor", "anchors", "build")] == [
        "default",
        "x",
        None,
        None,
        None,
        None,
    ]


def test_help_is_quick_and_lists_the_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "dpubench", "anchor", "--help"], capture_output=True, text=True, check=True)
    assert all(command in done.stdout for command in ("save", "list", "remove"))
