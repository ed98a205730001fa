"""Tests of plans of study ``cores``: valid settings, refusals and their messages, and that a written plan reads back the same."""

from __future__ import annotations

import pytest
from conftest import Bench
from cores_fixtures import LINES, PAPER, operators, plan_of, problems
from dpubench import studies
from dpubench.errors import PlanError
from dpubench.plans import quantities as q
from dpubench.plans.load import Where, parse_plan, plan_text, read_plan
from dpubench.studies.cores.expand import expand
from dpubench.studies.cores.plan import Plan


@pytest.mark.parametrize("name", studies.plan_names("cores"))
def test_a_built_in_plan_reads_back_the_same(name: str) -> None:
    plan, _ = read_plan(studies.plan_path("cores", name))
    assert isinstance(plan, Plan)
    assert plan.plan == name
    assert parse_plan(plan_text(plan), "written")[0] == plan


@pytest.mark.parametrize("text", [LINES, PAPER])
def test_a_plan_reads_back_the_same(text: str) -> None:
    plan = plan_of(text)
    assert parse_plan(plan_text(plan), "written")[0] == plan


def test_a_kernel_is_a_word_or_a_mapping() -> None:
    plan = plan_of("study: cores\nkernels: [md5, md5/openssl, {operator: lpm, engine: patricia, name: trie}]\n")
    assert [kernel.label for kernel in plan.kernels] == ["md5", "md5/openssl", "trie"]
    assert [kernel.engine for kernel in plan.kernels] == ["", "openssl", "patricia"]


def test_rates_and_clocks_have_units() -> None:
    plan = plan_of("study: cores\nlines: [100Mb/s, 2.5Gb/s]\nsweeps: [{name: s, clocks: [described, 500MHz, 2.5GHz]}]\n")
    assert plan.lines == [1e8, 2.5e9]
    assert plan.sweeps[0].clocks == ["described", 500.0, 2500.0]
    assert plan.words()["lines"] == ["100Mb/s", "2.5Gb/s"]
    assert plan.words()["sweeps"][0]["clocks"] == ["described", "500MHz", "2500MHz"]
    assert q.rate_bps(q.format_rate(40e9)) == 40e9
    with pytest.raises(ValueError, match="a clock must be above 0"):
        q.clock_mhz("0MHz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: cores\nlines: [10]", "p.yaml:2: lines.0: '10' has no unit: write 10b/s"),
        ("study: cores\nsweeps: [{name: a, clocks: [500]}]", "p.yaml:2: sweeps.0.clocks.0: '500' has no unit: write 500MHz (units: MHz, GHz)"),
        ("study: cores\nsweeps: [{name: a, organisation: smpt}]", "must be 'described', 'superscalar', 'fgmt', 'smt' or 'cmp', not 'smpt'"),
        ("study: cores\nsweeps: [{name: a, stepz: [1]}]", "sweeps.0.stepz: unknown key 'stepz'; did you mean 'steps'?"),
        ("study: cores\nsweeps: [{name: a, steps: [0]}]", "sweeps.0.steps.0: the number of steps must lie between 1 and 64, not 0"),
        ("study: cores\nsweeps: [{name: a, organisation: smt, steps: [all]}]", "'all' means all cores of a modelled product, but steps of smt"),
        ("study: cores\nsweeps: [{name: a, organisation: superscalar, unit_sets: 2}]", "the steps of a superscalar processor are its unit sets"),
        ("study: cores\nsweeps: [{name: a}, {name: a}]", "sweeps: two are called 'a': give one of them another name"),
        ("study: cores\nsweeps: [{name: a, vary: {window/instructions: []}}]", "vary: an empty list varies nothing"),
        ("study: cores\nkernels: [md5, md5]", "kernels: two are called 'md5': give one of them another name"),
        ("study: cores\nkernels: [md5/]", "kernels.0: 'md5/' is not a kernel: write OPERATOR or OPERATOR/ENGINE"),
        ("study: cores\nvariants: {base: {a: 1}}", "variants.base: this name means the model as described: choose another name"),
        ("study: cores\nvariants: {v: {a: [1]}}", "expected a number, a word or a section, not a list"),
        ("study: cores\nkernels: [md5]\nmixes: {md5: [md5]}", "mixes.md5: a kernel has this name: choose another name"),
        ("study: cores\nsample: {every: 2, measured: 3}", "sample.measured (3) is above sample.every (2)"),
        ("study: cores\nframe_sizes: [32B]", "a frame size must be from 64B to 9018B with FCS, or imix, not '32B'"),
        ("study: cores\nkernels: []", "kernels: an empty list measures nothing: name at least one"),
        ("study: cores\nexact: maybe", "exact: must be valid:"),
    ],
)
def test_what_no_plan_may_say_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_plan(text, "p.yaml")
    assert message in str(error.value)


def test_everything_that_only_the_catalog_and_the_models_show_is_told_at_once() -> None:
    text = """study: cores
target: [model:neoverse-n2, bf2]
kernels:
  - {operator: lpmm}
  - {operator: md5, engine: isal}
  - {operator: lpm, name: trie, params: {prefix: 3}}
  - {operator: md5, name: sized, params: {size: 64}}
mixes: {both: [trie, sha]}
claims: {lookup: tri, md5: md5}
sweeps: [{name: s, kernels: [trie, nothing], variants: [base, fast]}]
"""
    found = problems(text)
    for line, message in (
        (2, "target.0: there is no processor model 'neoverse-n2'"),
        (2, "target.1: 'bf2' is not a model of a processor, and this study runs only on models"),
        (4, "kernels.0: unknown operator 'lpmm'; did you mean 'lpm'?"),
        (5, "kernels.1.engine: operator md5 has no engine 'isal'; known: portable, openssl"),
        (6, "kernels.2.params.prefix: operator lpm has no parameter 'prefix'; did you mean 'prefixes'?"),
        (7, "kernels.3.params.size: the frame sets the size of a message: give `frames` instead"),
        (8, "mixes.both: the plan has no kernel 'sha'"),
        (9, "claims.lookup: the plan has no kernel 'tri'; did you mean 'trie'?"),
        (9, "claims.md5: the plan has no kernel 'md5'"),
        (10, "sweeps.0.kernels: the plan has no kernel or mix 'nothing'"),
        (10, "sweeps.0.variants: the plan has no variant 'fast'"),
    ):
        assert any(f"p.yaml:{line}: {message}" in problem for problem in found), (line, message, found)


def test_options_of_other_studies_are_refused_and_its_own_are_there(bench: Bench) -> None:
    done = bench("run", "operators", "--exact")
    assert done.returncode == 2 and "--exact: study 'operators' has no such option" in done.stderr
    done = bench("run", "cores", "--threads", "2")
    assert done.returncode == 2 and "--threads: study 'cores' has no such option; it has --operator, --size, --exact, --dask" in done.stderr
    done = bench("run", "cores", "--rounds", "3")
    assert done.returncode == 2 and "--rounds: study 'cores' has no such option" in done.stderr  # the study measures nothing
    done = bench("run", "cores", "--set", "messages=10", "--set", "messages=20")
    assert done.returncode == 2 and "--set messages is given twice" in done.stderr


def test_an_operator_cannot_take_the_place_of_kernels_that_sweeps_name() -> None:
    plan = plan_of(PAPER).model_copy(update={"kernels": plan_of("study: cores\nkernels: [md5]\n").kernels})
    with pytest.raises(PlanError, match=r"^--operator: the plan's sweeps, mixes or claims need its own kernels \(lookup\): choose plan quick, or"):
        expand(plan, operators(), Where("p.yaml", {}, {"kernels": "--operator"}))


def test_it_is_listed(bench: Bench) -> None:
    done = bench("list", "studies")
    assert done.returncode == 0 and "which processor organisation sustains which line rate" in done.stdout
    done = bench("list", "plans")
    assert "Crowley et al. 1999" in done.stdout


@pytest.mark.parametrize(
    ("was", "instead", "told"),
    [
        ("steps: [1, 2]", "steps: []", "sweeps.0.steps: an empty list measures nothing"),
        ("steps: [1, 2]", "steps: [1], clocks: []", "sweeps.0.clocks: an empty list measures nothing"),
        ("steps: [1, 2]", "variants: []", "sweeps.0.variants: an empty list measures nothing"),
        ("exact: true", "mixes: {both: []}", "mixes.both: an empty list measures nothing"),
        ("exact: true", "claims: {lookup: [lookup], md5: []}", "claims.md5: an empty list measures nothing"),
        ("operator: md5}", "operator: md5, frames: []}", "kernels.1.frames: an empty list measures nothing"),
        ("exact: true", "dask: nonsense", "dask: 'nonsense' is not the address of a Dask scheduler: write it as tcp://HOST:8786"),
    ],
)
def test_what_would_simulate_nothing_is_refused(was: str, instead: str, told: str) -> None:
    assert was in LINES
    (line,) = problems(LINES.replace(was, instead))
    assert told in line


@pytest.mark.parametrize("address", ["tcp://host:8786", "tls://10.0.0.1:1", "host:8786", "tcp://[::1]:8786"])
def test_addresses_of_schedulers_are_taken_as_they_are(address: str) -> None:
    assert plan_of(LINES + f"dask: {address!r}\n").dask == address
