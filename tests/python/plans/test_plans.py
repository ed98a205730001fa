"""Tests of plans and values of the command line: all mistakes are reported at once, each with its line (or option) and the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import studies
from dpubench.errors import PlanError
from dpubench.plans import quantities as q
from dpubench.plans.load import parse_plan, plan_text, read_plan
from dpubench.studies.operators.plan import Plan


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (q.size_bytes, "1500B", 1500), (q.size_bytes, "64KiB", 65536), (q.size_bytes, "1.5 kB", 1500), (q.size_bytes, "1GB", 10**9),
        (q.duration_s, "10s", 10), (q.duration_s, "20min", 1200), (q.duration_s, "3ms", 0.003), (q.duration_s, "2h", 7200),
        (q.rate_bps, "25Gb/s", 25e9), (q.rate_bps, "10Gbit/s", 1e10),
        (q.rate_pps, "2Mpps", 2e6), (q.fraction, "5%", 0.05), (q.fraction, "0.5%", 0.005),
    ],
)  # fmt: skip
def test_quantities(parse: object, text: str, value: float) -> None:
    assert callable(parse)
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (q.size_bytes, "1500", "'1500' has no unit: write 1500B"),
        (q.size_bytes, 1500, "'1500' has no unit: write 1500B"),
        (q.size_bytes, "0B", "at least 1 byte"),
        (q.size_bytes, "-5B", "at least 1 byte"),
        (q.size_bytes, "1.5B", "is not a whole number of bytes"),
        (q.size_bytes, "10Gb", "'Gb' is not a unit of a size: use one of B, kB"),
        (q.size_bytes, "big", "'big' is not a size: write a number with its unit, such as 1500B or 64KiB"),
        (q.size_bytes, "٣B", "is not a size"),
        (q.size_bytes, True, "is not a size"),
        (q.duration_s, "10", "has no unit: write 10ns"),
        (q.duration_s, "0s", "above 0"),
        (q.duration_s, "10m", "'m' is not a unit of a time"),
        (q.rate_bps, "25GB/s", "is not a unit of a bit rate"),
        (q.rate_pps, "2M", "is not a unit of a packet rate"),
        (q.rate_pps, "-1pps", "above 0"),
        (q.rate_bps, "0b/s", "above 0"),
        (q.fraction, "0.05", "has no unit: write 0.05%"),
        (q.fraction, "100%", "between 0% and 100%"),
    ],
)
def test_quantities_that_are_none_name_the_remedy(parse: object, text: object, words: str) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match=r"."):
        parse(text)
    try:
        parse(text)
    except ValueError as error:
        assert words in str(error)


def problems(text: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "p.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("study: operators\nsizes: [1500]", "p.yaml:2: sizes.0: '1500' has no unit: write 1500B (units: B, kB, KB, MB, GB, KiB, MiB, GiB)"),
        ("study: operators\nsizes:\n  - 64B\n  - 0B", "p.yaml:4: sizes.1: a size must be at least 1 byte, not '0B'"),
        ("study: operators\nsizes: -5B", "p.yaml:2: sizes: a size must be at least 1 byte, not '-5B'"),
        ("study: operators\nthreads: 0", "p.yaml:2: threads: the number of threads must lie between 1 and 4096, not 0"),
        ("study: operators\nthreads: [1, many]", "p.yaml:2: threads.1: 'many' is not a number of threads: write a whole number from 1 to 4096"),
        ("study: operators\nbudgt: 3min", "p.yaml:2: budgt: unknown key 'budgt'; did you mean 'budget'?"),
        ("study: operators\nrounds: {minimum: 6}", "p.yaml:2: rounds.minimum: unknown key 'minimum'; did you mean 'min'?"),
        (
            "study: operators\nrounds:\n  min: 9\n  max: 3",
            "p.yaml:2: rounds: rounds.max (3) is below rounds.min (9): raise rounds.max or lower rounds.min",
        ),
        ("study: operators\nbudget: 20", "p.yaml:2: budget: '20' has no unit: write 20ns (units: ns, us, ms, s, min, h)"),
        ("study: operators\nfootprints: [strem]", "p.yaml:2: footprints.0: must be 'resident', 'stream' or 'memory', not 'strem'; did you mean"),
        ("study: operators\noperators: []", "p.yaml:2: operators: an empty list measures nothing: name at least one"),
        ("study: operators\nbursts: [0, 300]", "p.yaml:2: bursts.0: the number of items in a burst must lie between 1 and 256, not 0"),
        ("study: operators\nexclude:\n  - operator: lpm", "p.yaml:3: exclude.0.reason: is missing"),
        ("study: operators\nstudy: cores", "p.yaml:2: study: 'study' is given twice: remove one"),
        ("study: [operators", "p.yaml:1: is not YAML: while parsing a flow sequence expected ',' or ']', but got '<stream end>'"),
        ("a: b: c", "p.yaml:1: is not YAML: mapping values are not allowed here"),
        ("", "p.yaml:1: is empty: a plan needs at least `study: operators`"),
        ("- 1", "p.yaml:1: a plan must be a mapping of keys to values, such as `study: operators`"),
        (
            "study: !!python/object/apply:os.system [ls]",
            "p.yaml:1: study: the YAML tag tag:yaml.org,2002:python/object/apply:os.system is not allowed in a plan",
        ),
        ("study: !!python/name:os.system", "p.yaml:1: study: the YAML tag tag:yaml.org,2002:python/name:os.system is not allowed in a plan"),
        ("? [a]\n: b", "p.yaml:1: a key must be a word"),
        ("study: operators\nseed: -1", "p.yaml:2: seed: must be valid: input should be greater than or equal to 0 (found '-1')"),
        ("study: a\0b", "p.yaml: is not YAML: unacceptable character #x0000: special characters are not allowed"),
    ],
)
def test_mistakes_of_a_plan(text: str, expected: str) -> None:
    assert any(line.startswith(expected) for line in problems(text)), problems(text)


@pytest.mark.parametrize("model", ["operators", "counts"])
@pytest.mark.parametrize(
    ("given", "meant"), [("both", ["stream", "resident"]), ("resident", ["resident"]), (["stream", "both"], ["stream", "resident"])]
)
def test_both_stands_for_two_footprints(model: str, given: object, meant: list[str]) -> None:
    assert studies.find(model).plan_model.model_validate({"study": model, "footprints": given}).footprints == meant  # type: ignore[attr-defined]


def test_all_mistakes_are_shown_together_in_line_order() -> None:
    found = problems("study: operators\nsizes: [1500]\nthreads: 0\nbudgt: 1s\nprecision: 5\n")
    assert [line.split(": ")[0] for line in found] == ["p.yaml:2", "p.yaml:3", "p.yaml:4", "p.yaml:5"]


def test_alias_bombs_and_deep_nesting_end_quickly() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
    assert "has too many values, or nests them too deeply" in problems(bomb)[0]
    assert "nested" in problems("a: " + "[" * 500 + "]" * 500)[0]
    assert "nests them too deeply" in problems("a: &a [*a]")[0]
    assert "is larger than 256 KiB, the limit of a plan" in problems("#" * 300_000)[0]


@pytest.mark.parametrize("name", studies.plan_names("operators"))
def test_built_in_plans_are_valid_and_survive_writing(name: str) -> None:
    plan, _ = read_plan(studies.plan_path("operators", name))
    assert plan.plan == name
    again, _ = parse_plan(plan_text(plan), "again")
    assert again == plan


def test_paper_is_the_grid_of_figure_11() -> None:
    plan, _ = read_plan(studies.plan_path("operators", "paper"))
    assert isinstance(plan, Plan)
    assert plan.sizes == [64, 128, 256, 512, 1024]
    assert plan.threads == [1, 2, 4, 6, 8, 12, 16]


def test_unreadable_plans(tmp_path: Path, bench: Bench) -> None:
    assert "No such file" in bench("run", "missing.yaml").stderr
    (bench.folder / "latin.yaml").write_bytes("study: operatörs".encode("latin-1"))
    assert "is not UTF-8 at byte 13" in bench("run", "latin.yaml").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operator", "aess"], "--operator: unknown operator 'aess'; did you mean 'aes'?"),
        (["--engine", "opensssl"], "--engine: unknown engine 'opensssl'; did you mean 'openssl'?"),
        (["--size", "1500"], "--size: '1500' has no unit: write 1500B"),
        (["--size", "0B"], "--size: a size must be at least 1 byte"),
        (["--size", "10GB"], "--size: 10GB is outside the sizes of every chosen operator: 64B to 64KiB"),
        (["--size=-5B"], "--size: a size must be at least 1 byte"),
        (["--operator", "lookup", "--size", "64B"], "--size: none of the chosen operators has a size: remove this"),
        (["--threads", "0"], "--threads: the number of threads must lie between 1 and 4096, not 0"),
        (["--threads", "1,alll"], "--threads: 'alll' is not a number of threads"),
        (["--burst", "1000"], "--burst: the number of items in a burst must lie between 1 and 256"),
        (["--footprint", "huge"], "--footprint: must be 'resident', 'stream' or 'memory', not 'huge'"),
        (["--budget", "20"], "--budget: '20' has no unit"),
        (["--precision", "5"], "--precision: '5' has no unit: write 5%"),
        (["--rounds", "0"], "--rounds: the number of rounds must lie between 1 and 1000, not 0"),
        (["--seed", "x"], "--seed: must be valid:"),
        (["--param", "mode"], "--param mode: write NAME=VALUE"),
        (["--param", "mod=gcm"], "--param: unknown parameter 'mod'; did you mean 'mode'?"),
        (["--param", "mode=gmc"], "--param: unknown mode 'gmc'; did you mean 'gcm'?"),
        (["--input", "rules"], "--input rules: write KIND=PATH, such as --input rules=my.rules"),
        (["--input", "rule=x"], "--input rule=x: unknown kind 'rule'; did you mean 'rules'?"),
        (["--operator", "aes", "--param", "mode=xts", "--size", "100B"], "--param: aes: XTS takes whole blocks of 16 bytes"),
        (["--target", "locl"], "--target: unknown target 'locl'; did you mean 'local'?"),
        (["--plan", "quik"], "--plan: study 'operators' has no plan 'quik'; did you mean 'quick'?"),
        (["--name", "a/b"], "--name a/b: invalid name: use one word"),
        (["--against", "nowhere"], "there is no such program: give --against a build folder or a program"),
        (["--engine-dir", "nowhere"], "--engine-dir nowhere: is no directory"),
        (["operator"], "unknown study 'operator'; did you mean 'operators'?"),
        (["--nonsense"], "No such option"),
    ],
)
def test_mistakes_on_the_command_line(bench: Bench, arguments: list[str], words: str) -> None:
    done = bench("run", *arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not bench.results.exists()


def test_combinations_that_do_not_exist_are_left_out_with_the_reason(bench: Bench) -> None:
    done = bench("run", "--operator", "aes", "--size", "100B,256B", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert sorted((c["params"]["mode"], c["params"]["size"]) for c in told["configurations"]) == [("gcm", "100"), ("gcm", "256"), ("xts", "256")]
    assert "aes: XTS takes whole blocks of 16 bytes (mode=xts,size=100)" in told["left_out"]
    assert all("has no XTS" in c["not_measured"]["ipsec-mb"] for c in told["configurations"] if c["params"]["mode"] == "xts")


def test_unknown_operator_in_a_file_has_its_line(bench: Bench) -> None:
    (bench.folder / "p.yaml").write_text("study: operators\noperators:\n  - crc\n  - shaa256\nparams:\n  mode: [gcm, cbcc]\nengines: [isla]\n")
    done = bench("run", "p.yaml")
    assert done.returncode == 2
    assert "p.yaml:4: operators.1: unknown operator 'shaa256'" in done.stderr
    assert "p.yaml:6: params.mode: unknown parameter 'mode'" in done.stderr
    assert "p.yaml:7: engines.0: unknown engine 'isla'; did you mean 'isal'?" in done.stderr
