"""Tests that a new operator is only a new folder: added in a copy of the repository, built with `make build`, measured; nothing else changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

OPERATOR = """// invert: every bit of a message turned over.

#include "operators/engine.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

class Invert final : public Operator {
 public:
  Invert() {
    info_.name = "invert";
    info_.scenarios = {"storage"};
    info_.summary = "SUMMARY";
    info_.definition = "in: a message. out: the same length, each bit turned over.";
    info_.parameters = {size_parameter()};
    info_.equivalence_text = "the same bytes as the reference engine";
    info_.primary_metric = "gbps";
    info_.processes_all_bytes = true;
    info_.reference_engine = "portable";
    info_.sources = {"the scaffold test"};
  }
  [[nodiscard]] const OperatorInfo& info() const override { return info_; }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    const auto bytes = params.number("size");
    work->items = random_messages(store, "invert", size.items, bytes, static_cast<std::uint32_t>(bytes));
    describe_generated(*work, store, "invert");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    work->items.push_back({from_hex("00ff0f"), {}, 3});
    work->expected.push_back({from_hex("ff00f0"), 0, kStatusOk});
    std::vector<KnownAnswer> answers;
    answers.push_back({"by hand", std::move(work)});
    return answers;
  }

 private:
  OperatorInfo info_;
};

DPUBENCH_OPERATOR(Invert);

}  // namespace
}  // namespace dpubench
"""

ENGINE = """// invert, engine portable: byte by byte.

#include "operators/engine.hpp"

namespace dpubench {
namespace {

struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      for (std::uint32_t k = 0; k < b.in_len[i]; ++k) b.out[i][k] = ~b.in[i][k];
      b.out_len[i] = b.in_len[i];
      b.status[i] = kStatusOk;
    }
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"invert", "portable", "byte by byte", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {"generic", "a loop", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) { sink.add(std::make_unique<dpubench::Portable>()); }
"""


#: Options of a build that takes little time. Nothing is timed here.
QUICK = ("-Doptimization=0", "-Dunity=on", "-Dunity_size=8", "-Dlayouts=1")


class Copy:
    """A copy of the tracked files in its own git repository, with this repository's virtual environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("DPUBENCH_", "GIT_"))},
            "PYTHONPATH": str(folder / "python"), "XDG_CACHE_HOME": str(folder.parent / "cache"), "COLUMNS": "160", "TERM": "dumb",
        }  # fmt: skip

    def __call__(self, *command: str, status: int = 0) -> str:
        done = subprocess.run(command, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=600, check=False)
        assert done.returncode == status, (command, done.stdout[-2000:], done.stderr[-4000:])
        return done.stdout

    def dpubench(self, *arguments: str) -> str:
        return self(sys.executable, "-m", "dpubench", *arguments)

    def make(self) -> None:
        self("make", "build")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    for tool in ("git", "make", "ninja"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if not (ROOT / ".venv/stamp").is_file():
        pytest.skip("needs the virtual environment of `make venv`")
    folder = tmp_path_factory.mktemp("scaffold") / "repository"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    if len(names) < 10:
        pytest.skip("this is no clone: git does not tell which files belong to it")
    for name in filter(None, names):
        # Recorded test corpora have thousands of files that no build reads.
        if not name.startswith(("tests/fuzz/", "docs/images/")) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)  # keeps file times: the virtual environment must not look older than its sources
    (folder / ".venv").symlink_to(ROOT / ".venv")
    copy = Copy(folder)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    copy("git", "init", "-q")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("/.venv\n")  # .gitignore names a folder, this one is a link
    copy(*git, "add", "-A")
    copy(*git, "commit", "-q", "-m", "as it is")
    # One operator of the project is enough to begin with. The list of wanted operators names the new one from the start.
    copy("scripts/build.sh", "build", "-Donly=sha256,invert", *QUICK)
    copy.make()
    yield copy
    shutil.rmtree(folder, ignore_errors=True)


def test_an_operator_is_one_new_folder(copy: Copy) -> None:
    assert '"invert"' not in copy.dpubench("list", "operators", "--json")
    place = copy.folder / "native/operators/invert"
    place.mkdir()
    (place / "operator.cpp").write_text(OPERATOR.replace("SUMMARY", "every bit turned over"))
    (place / "portable.cpp").write_text(ENGINE)
    copy.make()

    listed = copy.dpubench("list", "operators")
    assert "invert" in listed and "every bit turned over" in listed
    assert "each bit turned over" in copy.dpubench("describe", "invert")
    copy.dpubench(
        "run", "--name", "r", "--operator", "invert", "--rounds", "1", "--footprint", "resident", "--results", str(copy.folder.parent / "r")
    )
    record = json.loads((copy.folder.parent / "r/r/run.json").read_text())
    assert [(p["engine"], p["failure"]) for p in record["points"]] == [("portable", "")]
    assert record["points"][0]["verified"]["compared"] > 0
    assert "invert" in (copy.folder.parent / "r/r/report.html").read_text()
    assert copy("git", "status", "--porcelain", "--untracked-files=all").splitlines() == [
        "?? native/operators/invert/operator.cpp", "?? native/operators/invert/portable.cpp",
    ]  # fmt: skip

    # A second engine is one file. A changed operator shows at once, although the program itself is not linked anew.
    (place / "again.cpp").write_text(ENGINE.replace('"portable"', '"again"'))
    (place / "operator.cpp").write_text(OPERATOR.replace("SUMMARY", "no bit left as it was"))
    copy.make()
    assert "again" in copy.dpubench("list", "engines")
    assert "no bit left as it was" in copy.dpubench("list", "operators")

    # A removed operator disappears without a manual step, too.
    shutil.rmtree(place)
    copy.make()
    assert "invert" not in copy.dpubench("list", "operators")
    assert copy("git", "status", "--porcelain") == ""


def test_a_missing_library_only_removes_its_engines(copy: Copy) -> None:
    """pkg-config finds only what the core needs. The other engines are listed with the reason."""
    found = copy.folder.parent / "pkgconfig"
    found.mkdir()
    places = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], capture_output=True, text=True, check=True).stdout.strip()
    for place in map(Path, places.split(":")):
        for name in ("nlohmann_json.pc", "CLI11.pc"):
            if (place / name).is_file():
                shutil.copy(place / name, found / name)
    copy.environment |= {"PKG_CONFIG_LIBDIR": str(found), "PKG_CONFIG_PATH": ""}
    copy("scripts/build.sh", "build-bare", "-Donly=sha256", *QUICK)
    hello = json.loads(copy("build-bare/native/dpubench-operators", "--list"))
    [operator] = hello["catalog"]["operators"]
    engines = {e["name"]: e for e in operator["engines"]}
    assert engines["portable"]["available"]
    assert not engines["openssl"]["available"]
    assert "libcrypto" in engines["openssl"]["reason"] and "not built" in engines["openssl"]["reason"]
    copy.environment["DPUBENCH_PROGRAMS"] = str(copy.folder / "build-bare/native")
    assert "libcrypto" in copy.dpubench("list", "engines")
