"""Tests of default inputs and their replacements."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest
from dpubench import inputs
from dpubench.errors import UserError

SHARED = Path(os.environ.get("DPUBENCH_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
PYASN = "; IP-ASN32-DAT file\n; Prefixes-v4   : 2\n1.0.0.0/24\t15169\n2001:db8::/32\t64500\n1.0.4.0/22\t56203\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_routes_of_both_forms_become_prefix_and_next_hop() -> None:
    assert inputs.convert_routes(PYASN, 4).split() == ["1.0.0.0/24,15169", "1.0.4.0/22,56203"]
    assert inputs.convert_routes(PYASN, 6).split() == ["2001:db8::/32,64500"]
    assert inputs.convert_routes("prefix,next_hop_id\n10.0.0.0/8,7\n", 4) == "\n10.0.0.0/8,7\n", "lines keep their numbers"
    assert inputs.convert_routes("10.0.0.0/8;7\n", 4) == "10.0.0.0/8;7\n", "a bad line is the native reader's to name"


def test_a_gzipped_table_is_converted_once(tmp_path: Path) -> None:
    file = tmp_path / "table.gz"
    file.write_bytes(gzip.compress(PYASN.encode()))
    first = inputs.resolve(["routes4"], {"routes4": [str(file)]}).inputs["routes4"]
    assert first.files[0].read_text().split() == ["1.0.0.0/24,15169", "1.0.4.0/22,56203"]
    assert first.name == "table.gz"
    stamp = first.files[0].stat().st_mtime_ns
    assert inputs.resolve(["routes4"], {"routes4": [str(file)]}).inputs["routes4"].files[0].stat().st_mtime_ns == stamp


@pytest.mark.parametrize("damage", [b"\x1f\x8bnot gzip", gzip.compress(b"1.0.0.0/8,1\n", mtime=0)[:-6], b"\xff\xfe\x00"])
def test_damaged_tables_are_named(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "table"
    file.write_bytes(damage)
    with pytest.raises(UserError, match=r"--input routes4: .*table: "):
        inputs.resolve(["routes4"], {"routes4": [str(file)]})


def test_a_converted_table_is_known_again_by_its_digest(tmp_path: Path) -> None:
    table = tmp_path / "routes.dat"
    table.write_text(PYASN)
    (file,) = inputs.resolve({"routes4"}, {"routes4": [str(table)]}).inputs["routes4"].files
    whole = file.read_bytes()
    for damaged in (whole[:-5], b"", whole.replace(b"1", b"2", 1)):
        file.write_bytes(damaged)
        (again,) = inputs.resolve({"routes4"}, {"routes4": [str(table)]}).inputs["routes4"].files
        assert again == file and file.read_bytes() == whole
    file.with_name(f"{file.name}.sha256").unlink()
    assert inputs.resolve({"routes4"}, {"routes4": [str(table)]}).inputs["routes4"].files == (file,) and file.read_bytes() == whole


def test_what_has_no_end_or_no_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, kind: str = "routes4") -> str:
        with pytest.raises(UserError) as told:
            inputs.resolve({kind}, {kind: [str(path)]})
        return str(told.value)

    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refused(tmp_path / "pipe")
    assert "is not a regular file" in refused(Path("/dev/zero"))
    good = gzip.compress(PYASN.encode() * 100)
    for name, damaged in (("cut", good[:-20]), ("flipped", good[:30] + bytes([good[30] ^ 255]) + good[31:]), ("noise", b"\x1f\x8b" + b"x" * 50)):
        (tmp_path / name).write_bytes(damaged)
        assert f"{tmp_path / name}: cannot be read" in refused(tmp_path / name)
    monkeypatch.setattr(inputs, "MOST_TEXT_BYTES", 1 << 20)
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(2 << 20)))
    assert "is larger than 1 MiB unpacked" in refused(tmp_path / "bomb")
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / os.fsdecode(b"\xff\x1b[2J")).write_bytes(b"x")
    assert "is not printable UTF-8" in refused(folder, "corpus") and "\\x1b" in refused(folder, "corpus")


def test_what_is_given_must_be_there_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for kind, path, words in (
        ("rules", "missing", "no such file"), ("rules", str(tmp_path), "is a directory"), ("corpus", str(tmp_path / "empty"), "is empty"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=words):
            inputs.resolve([kind], {kind: [path]})
    with pytest.raises(UserError, match="one file"):
        inputs.resolve(["rules"], {"rules": ["a", "b"]})


def test_what_has_no_default_says_how_to_give_it(tmp_path: Path) -> None:
    missing = inputs.resolve(["capture", "domains"], {}).missing
    assert {kind: f"--input {kind}=FILE" in told.reason for kind, told in missing.items()} == {"capture": True, "domains": True}
    names = tmp_path / "names.txt"
    names.write_text("example.org\n")
    assert inputs.resolve(["domains"], {"domains": [str(names)]}).inputs["domains"].files == (names,)
    with pytest.raises(UserError, match="--input domains: is given 2 times"):
        inputs.resolve(["domains"], {"domains": [str(names), str(names)]})


def test_operands_are_unescaped_joined_unique_and_without_macros() -> None:
    text = (
        'SecRule ARGS "@rx a\\"b\\\\\\\\c" \\\n    "id:1"\nSecRule ARGS "@rx %{tx.x}" "id:2"\n# SecRule ARGS "@rx comment" "id:3"\n'
        'SecRule ARGS \\\n  "!@rx ^GET$" "id:4"\nSecRule ARGS "@rx ^GET$" "id:5"\nSecRule ARGS "@pm x" "id:6"\n'
    )
    assert inputs.crs_operands([text]) == ['a"b\\\\c', "^GET$"]


def test_rules_that_match_almost_anything_are_left_out_and_counted() -> None:
    kept, left_out = inputs.select_rules(["^.*$", r"\d", "union select", "(?<name", "e"], inputs.crs_sample())
    assert kept == ["union select", "(?<name"]
    assert left_out == 3
    assert inputs.crs_sample() == inputs.crs_sample()


def test_the_selective_set_compiles_is_unique_and_rarely_matches() -> None:
    found = inputs.resolve(["rules"], {}).inputs["rules"]
    lines = [line for line in found.files[0].read_text().splitlines() if not line.startswith("#")]
    rules = [re.fullmatch(r"(\d+):/(.*)/([is]*)", line) for line in lines]
    assert all(rules) and len(rules) >= 40
    assert len({r[1] for r in rules if r}) == len({r[2] for r in rules if r}) == len(rules)
    compiled = [re.compile(r[2], (re.I if "i" in r[3] else 0) | (re.S if "s" in r[3] else 0)) for r in rules if r]
    assert not [c.pattern for c in compiled if any(c.search(p) for p in inputs.crs_sample())]


@pytest.mark.skipif(not inputs.CRS_RULES.is_dir(), reason="modsecurity-crs is not installed")
def test_the_crs_set_says_how_many_rules_it_leaves_out() -> None:
    found = inputs.resolve(["rules"], {"rules": ["crs"]}).inputs["rules"]
    match = re.search(r"(\d+) of (\d+), (\d+) left out", found.note)
    assert match is not None
    kept, all_, left = map(int, match.groups())
    assert kept + left == all_ and kept > 100
    assert len([line for line in found.files[0].read_text().splitlines() if line[0] != "#"]) == kept


@pytest.mark.skipif(not (SHARED / "rules").is_dir() or not inputs.CRS_RULES.is_dir(), reason="no developer data, or no modsecurity-crs")
def test_the_extraction_finds_as_many_operands_as_the_developer_data() -> None:
    lines = [line for line in (SHARED / "rules" / "modsecurity_crs_rx.regex").read_text().splitlines() if line and line[0] != "#"]
    operands = inputs.crs_operands(f.read_text() for f in sorted(inputs.CRS_RULES.glob("*.conf")))
    assert len(operands) == len(lines)


def test_an_input_without_a_name_is_no_input() -> None:
    with pytest.raises(UserError, match="--input corpus=: names no file"):
        inputs.resolve(["corpus"], {"corpus": [""]})
