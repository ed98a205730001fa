"""Tests of the report of study ``end-to-end``: every number is the model's, gaps have a reason, and no figures stand together that must not."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.report import frame
from dpubench.report.frame import embedded_json
from dpubench.studies.end_to_end import report, wording
from dpubench.studies.end_to_end.model import PLACES, SHORT_TRIALS, VIRTUAL_LINK, PointSummary, RunSummary
from dpubench.studies.end_to_end.report import model, ratios
from dpubench.studies.end_to_end.report.figures import PERCENTILES
from dpubench.studies.end_to_end.report.page import Beyond, Page, Part
from end_to_end_fixtures import example_run
from end_to_end_variety import evil_run, find, limited_run, mixed_run, null_only, rates_only
from pages import Elements

MIN_EFFECT = 0.03


def page_of(*runs: RunSummary, baseline: str | None = None) -> Page:
    return model.build(list(runs), warnings.advice, MIN_EFFECT, baseline)


def part_of(page: Page, workload: str, is_virtual: bool = True) -> Part:
    (part,) = [p for p in page.parts if (p.workload, p.is_virtual) == (workload, is_virtual)]
    return part


def rounded(interval: Interval | None) -> tuple[float | None, ...]:
    if interval is None:
        return (None, None, None)
    return tuple(float(f"{v:.6g}") if math.isfinite(v) else None for v in (interval.value, interval.low, interval.high))


def html(*runs: RunSummary) -> str:
    return frame.render([report.section_of(page_of(*runs))])


# --------------------------------------------------------------------------- figures


@pytest.mark.parametrize("run", [example_run(), limited_run(), mixed_run(), rates_only(), null_only()], ids=lambda r: r.name)
def test_every_number_of_the_figures_is_the_models(run: RunSummary) -> None:
    by_id = {p.id: p for p in run.points}
    shown = set()
    for part in page_of(run).parts:
        for entry in part.data["points"]:
            p = by_id[entry["id"]]
            shown.add(p.id)
            assert (entry["frame"], entry["load"], entry["kind"], entry["offered"]) == (p.frame, p.load, p.load_kind, p.offered_pps)
            assert entry["pps"] == rounded(p.throughput_pps) and entry["gbps"] == rounded(p.throughput_gbps)
            assert entry["loss"] == rounded(p.loss_ratio) and entry["cpu"] == rounded(p.server_cpu_share)
            assert entry["application"] == rounded(p.server_application_share) and entry["receiveWork"] == rounded(p.server_receive_work_share)
            assert entry["cpuNs"] == rounded(p.server_cpu_ns_per_packet) and entry["inserted"] == rounded(p.inserted_share)
            assert entry["places"] == [rounded(p.loss_by_place.get(place)) for place in PLACES]
            for told, times in (("latency", p.latency), ("residence", p.residence)):
                assert entry[told] == (None if times is None else {n: rounded(getattr(times, n)) for n in PERCENTILES})
            assert [s["ns"] for s in entry["stages"]] == [rounded(s.ns_per_packet) for s in p.stages]
            assert (entry["rounds"], entry["trials"], entry["trialS"], entry["limit"]) == (p.rounds, p.trials, p.trial_s, p.limit)
            assert (entry["floor"] is None) == (p.floor is None)
            if p.floor is not None:
                assert part.data["points"][entry["floor"]]["id"] == p.floor.point
    assert shown == set(by_id)


def test_what_stages_add_up_to_counts_the_packets_that_each_saw() -> None:
    run = example_run()
    point = find(run, "application-recognition", "64", "NDR")
    parse, scan, digest, compress, transmit = point.stages
    point.stages = [replace(parse, packets=1000), replace(scan, packets=1000), replace(digest, packets=100), replace(compress, packets=0), transmit]
    point.stages[4] = replace(transmit, packets=950)
    (entry,) = [e for e in part_of(page_of(run), point.workload).data["points"] if e["id"] == point.id]
    assert [s["share"] for s in entry["stages"]] == [1.0, 1.0, 0.1, 0.0, 0.95]
    assert entry["stages"][2]["perPacket"][0] == pytest.approx(digest.ns_per_packet.value * 0.1, rel=1e-5)
    assert entry["stages"][3]["perPacket"] == (0, 0, 0)


def test_what_is_missing_says_why_in_the_data_and_on_the_page() -> None:
    run = limited_run()
    page = page_of(run)
    empty = [e for part in page.parts for e in part.data["points"] if e["pps"][0] is None]
    assert len(empty) == 3 and all(e["why"] for e in empty)
    assert all(e["why"] == "" for part in page.parts for e in part.data["points"] if e["pps"][0] is not None)
    text = frame.render([report.section_of(page)])
    for words in (
        "failed: trial: the server was killed by SIGKILL",
        "cannot run here: xdp: needs root",
        "client-limited (6 of 6 rounds): says nothing about the server",
    ):
        assert words in text
    withheld = [e for part in page.parts for e in part.data["points"] if e["frame"] == "512"]
    assert withheld and all(e["cpu"][0] is None and e["cpuWithheld"].startswith("the kernel's receive work") for e in withheld)


def test_software_links_never_stand_beside_lines() -> None:
    run = mixed_run()
    page = page_of(run)
    assert {(p.workload, p.is_virtual) for p in page.parts} == {(w, v) for w in ("flow-table", "application-recognition") for v in (True, False)}
    by_id = {p.id: p for p in run.points}
    for part in page.parts:
        assert {by_id[e["id"]].is_virtual for e in part.data["points"]} == {part.is_virtual}
        assert (VIRTUAL_LINK in part.labels) == part.is_virtual and SHORT_TRIALS in part.labels
        assert part.labels == part.data["labels"]
    assert page.labels == [SHORT_TRIALS]
    assert len({p.anchor for p in page.parts}) == len(page.parts)


def test_frames_are_in_order_and_a_mix_says_its_mean() -> None:
    run = mixed_run()
    run.points += [
        replace(p, id=f"mix/{p.id}", frame="imix", frame_bytes=353.8) for p in run.points if p.workload == "flow-table" and p.frame == "512"
    ]
    part = part_of(page_of(run), "flow-table")
    assert part.frames == ["64", "imix", "512", "1518"] and part.frame_words[1] == "IMIX (mean 353.8 B)"


def test_variants_are_called_by_what_differs() -> None:
    page = page_of(mixed_run())
    assert [v.label for v in part_of(page, "flow-table").variants] == [
        "dpdk-hash, memif",
        "portable, memif",
        "dpdk-hash, vhost",
        "null workload (memif)",
        "null workload (vhost)",
    ]
    assert [v.label for v in part_of(page, "application-recognition").variants] == ["all-host", "split", "null workload"]
    assert [v.correctness_only for v in part_of(page, "application-recognition").variants] == [False, True, False]
    assert "hyperscan" in part_of(page, "application-recognition").variants[0].told
    assert page_of(rates_only()).parts[0].variants[0].label == "dpdk-hash, all-host"
    run = example_run()
    other = [
        replace(p, id=f"other/{p.id}", engines={**p.engines, "scan": "pcre2", "hash": "portable"})
        for p in run.points
        if p.workload == "application-recognition" and p.placement == "all-host"
    ]
    run.points += other
    labels = [v.label for v in part_of(page_of(run), "application-recognition").variants]
    assert labels == ["hyperscan+openssl, all-host", "hyperscan+openssl, split", "pcre2+portable, all-host", "null workload"]


def test_schedules_are_lines_of_their_own() -> None:
    run = rates_only()
    run.points += [replace(p, id=f"poisson/{p.id}", schedule="poisson") for p in run.points if not p.is_null]
    labels = [v.label for v in page_of(run).parts[0].variants]
    assert labels[:2] == ["interval", "poisson"]


# --------------------------------------------------------------------------- the head


def test_the_head_answers() -> None:
    page = page_of(example_run())
    answers = [p.answer for p in page.parts]
    assert answers[0].startswith(
        "flow-table sustains 6.01 Mpps of 64 B frames over memif (dpdk-hash, the best of 2), 0 of 18.0 M packets lost "
        "(a loss below 1.7e-07 would not show), 0.567 times"
    )
    assert "split" not in answers[1]
    assert page.measured.startswith("flow-table and application-recognition, client to server and back over memif, 64 to 1518 B frames")
    assert (page.trust.points, page.trust.client_limited, page.trust.failed, page.trust.unavailable) == (102, 1, 1, 1)
    text = frame.render([report.section_of(page)])
    head = text[text.index("<header") : text.index("</header>")]
    assert VIRTUAL_LINK in head and SHORT_TRIALS in head and "1 failure" in head and "not converged" in head


def test_points_whose_latency_may_be_the_clients_are_counted() -> None:
    page = page_of(example_run())
    late = [p for p in example_run().points if p.latency_withheld]
    assert len(late) == page.trust.latency_withheld > 0
    assert f"some latencies of {len(late)} points are withheld: " in frame.render([report.section_of(page)])


def test_without_a_search_the_highest_rate_tried_is_no_limit() -> None:
    page = page_of(rates_only())
    assert page.parts[0].answer.startswith("flow-table carried 4.00 Mpps of 64 B frames over memif (dpdk-hash, all-host), 0 of 12.0 M packets lost")
    assert page.parts[0].answer.endswith(": the highest rate tried, without a search for the limit.")
    assert "at least" in frame.render([report.section_of(page)])


def test_the_null_workload_alone_is_a_part() -> None:
    page = page_of(null_only())
    assert [p.workload for p in page.parts] == ["forward"] and page.parts[0].baseline is None and not page.parts[0].ratios


def test_a_clients_limit_is_never_the_servers() -> None:
    run = limited_run()
    limited = find(run, "flow-table", "512", "NDR", "dpdk-hash")
    page = page_of(run)
    part = part_of(page, "flow-table")
    cell = part.rows[0].cells[1]
    assert cell is not None and cell.ndr is limited and cell.beyond is None and "client-limited (6 of 7 rounds)" in cell.why_no_beyond
    rows = [r for r in part.ratios if r.frame == "512" and r.load == "NDR"]
    assert [r.verdict for r in rows] == ["not comparable"] and "says nothing about the server" in rows[0].reason
    assert "client-limited (6 of 7 rounds): not the server's limit, which may be higher" in frame.render([report.section_of(page)])
    fastest = find(run, "flow-table", "64", "NDR", "dpdk-hash")
    fastest.limit = "client-limited"
    assert part_of(page_of(run), "flow-table").answer.startswith(
        "flow-table sustains 3.35 Mpps of 64 B frames over memif (portable), 0 of 10.1 M packets lost"
    )


# --------------------------------------------------------------------------- ratios


def steady(point: PointSummary, rates: list[float]) -> None:
    point.round_pps = rates


def test_verdicts_follow_the_rounds() -> None:
    run = example_run()
    old, new = (find(run, "flow-table", "64", "NDR", engine) for engine in ("dpdk-hash", "portable"))
    for factor, wanted in ((0.8, "slower"), (1.2, "faster"), (1.0, "same")):
        chance = random.Random(1)
        steady(old, [1e6 * (1 + chance.gauss(0, 0.002)) for _ in range(6)])
        steady(new, [1e6 * factor * (1 + chance.gauss(0, 0.002)) for _ in range(6)])
        (row,) = [r for r in part_of(page_of(run), "flow-table").ratios if (r.frame, r.load) == ("64", "NDR")]
        assert row.verdict == wanted and row.paired and row.ratio is not None and row.ratio.value == pytest.approx(factor, rel=0.01)
    steady(new, [1e6 * v for v in (0.5, 1.9, 0.7, 1.6, 0.9, 1.2)])
    (row,) = [r for r in part_of(page_of(run), "flow-table").ratios if (r.frame, r.load) == ("64", "NDR")]
    assert row.verdict == "undecided" and row.reason


def test_a_latency_that_is_withheld_is_not_compared() -> None:
    run = example_run()
    withheld = find(run, "flow-table", "64", "interval 1000 ns", "portable")
    withheld.latency_withheld, withheld.round_p99_ns = {"p99": "the client's own lag is 9 us there"}, []
    rows = [r for r in part_of(page_of(run), "flow-table").ratios if (r.frame, r.load) == ("64", "interval 1000 ns")]
    reasons = {r.quantity: r.reason for r in rows if r.ratio is None}
    assert reasons == {"latency p99": "latency p99 is withheld: the client's own lag is 9 us there"}
    assert {r.quantity for r in rows if r.ratio is not None} == {"latency p50"}


def test_a_lower_latency_is_faster() -> None:
    run = example_run()
    new = find(run, "flow-table", "64", "interval 1000 ns", "portable")
    new.round_p99_ns = [v * 0.5 for v in find(run, "flow-table", "64", "interval 1000 ns", "dpdk-hash").round_p99_ns]
    (row,) = [r for r in part_of(page_of(run), "flow-table").ratios if (r.frame, r.load, r.quantity) == ("64", "interval 1000 ns", "latency p99")]
    assert row.verdict == "faster" and row.ratio is not None and row.ratio.value == pytest.approx(0.5)


def test_rounds_that_do_not_match_are_independent() -> None:
    found, paired = ratios.difference([1e6] * 5 + [1.01e6], [2e6] * 3 + [2.01e6], rounds=6)
    assert found is not None and not paired
    assert ratios.difference([1e6], [2e6] * 6, rounds=6) == (None, False)
    assert ratios.difference([1e6, math.nan], [2e6, 2e6], rounds=2) == (None, False)
    assert ratios.difference([], [2e6, 2e6], rounds=2) == (None, False)


def test_overload_and_shared_cpus_are_not_compared() -> None:
    page = page_of(example_run())
    over = [r for r in part_of(page, "flow-table").ratios if (r.frame, r.load) == ("64", "interval 250 ns")]
    assert [r.verdict for r in over] == ["not comparable"] and "overloaded at this rate" in over[0].reason
    shared = part_of(page, "application-recognition").ratios
    assert shared and all(r.verdict == "not comparable" for r in shared)
    assert "proves correctness only" in shared[0].reason


def test_what_the_application_costs_beyond_the_null_workload() -> None:
    run = example_run()
    point, null = find(run, "flow-table", "64", "NDR", "dpdk-hash"), find(run, "forward", "64", "NDR")
    point.throughput_pps, null.throughput_pps = Interval(5e6, 4.9e6, 5.1e6), Interval(10e6, 9.9e6, 10.1e6)
    # The CPUs' busy time counts, not the time between packets: at its rate without loss a server is not busy all the time.
    point.server_cpu_ns_per_packet, null.server_cpu_ns_per_packet = Interval(170.0, 166.0, 174.0), Interval(80.0, 77.0, 83.0)
    found, why = ratios.beyond(point, null, 6)
    assert found is not None and not why and found.extra_ns is not None
    assert found.extra_ns.value == pytest.approx(90.0)
    assert found.extra_ns.high - found.extra_ns.value == found.extra_ns.value - found.extra_ns.low == pytest.approx(5.0)
    null.server_cpu_ns_per_packet, null.server_cpu_withheld = None, "two servers share a CPU"
    unknown, why = ratios.beyond(point, null, 6)
    assert unknown is not None and unknown.ratio == found.ratio and not why
    assert unknown.extra_ns is None and unknown.why_no_extra == "null workload: two servers share a CPU"
    for name, value in (("limit", "stall-limited"), ("server_cpus", 2), ("throughput_pps", None)):
        kept = (null.limit, null.server_cpus, null.throughput_pps)
        setattr(null, name, value)
        found, why = ratios.beyond(point, null, 6)
        assert found is None and why
        null.limit, null.server_cpus, null.throughput_pps = kept


# --------------------------------------------------------------------------- the page


def test_every_part_has_its_tables_and_labels_without_a_script() -> None:
    text = html(example_run())
    for anchor in ("w-flow-table", "w-application-recognition", "accounts", "links", "machine", "warnings", "failures", "method"):
        assert f'id="{anchor}"' in text
    for part in re.findall(r'<section id="w-.*?</section>', text, re.DOTALL):
        assert part.count(VIRTUAL_LINK) >= 2 and part.count(SHORT_TRIALS) >= 2
    assert "client&#39;s clock, read once per burst" in text and "p50 of the null workload over all its loads: 4.99 to" in text


def test_accounts_are_summed_once() -> None:
    run = example_run()
    accounts = page_of(run).accounts
    # The goals of a configuration share the trials of one search.
    own = [p for p in run.points if p.load_kind != "PDR"]
    assert sum(a.trials for a in accounts) == sum(p.trials for p in own)
    assert sum(a.stall_limited for a in accounts) == sum(p.tried.get("stall-limited", 0) for p in own)
    assert sum(a.reordered for a in accounts) == sum(p.reordered for p in own)
    run.points[0].wrong = 3
    assert '<span class="wrong">3</span>' in html(run)


def test_text_of_a_run_never_becomes_markup(tmp_path: Path) -> None:
    frame.write([report.section([evil_run()])], tmp_path / "evil.html")
    frame.write([report.section([example_run()])], tmp_path / "clean.html")
    evil, clean = (Elements((tmp_path / f"{name}.html").read_text(encoding="utf-8")) for name in ("evil", "clean"))
    assert not [t for t, a in evil.tags if t in {"img", "iframe", "object", "embed"} or any(k.startswith("on") for k in a)]

    def only(elements: Any) -> list[str]:
        return sorted(t for t, _ in elements.tags if t in {"script", "style", "link", "meta"})

    assert only(evil) == only(clean)


def test_each_run_is_set_against_the_first() -> None:
    page = page_of(example_run("first"), limited_run(), baseline="end-to-end-paper-example")
    assert [i.name for i in page.all_runs] == ["end-to-end-paper-example", "first"]
    part = part_of(page, "flow-table")
    assert {v.run for v in part.variants} == {0, 1}
    assert all(part.variants[r.variant].run == 0 for r in part.ratios)
    rows = part.across[1]
    assert rows and all(part.variants[r.variant].run == 1 and part.variants[r.against].run == 0 for r in rows)
    assert all(part.variants[r.variant].told.split(", ")[1:] == part.variants[r.against].told.split(", ")[1:] for r in rows)
    assert {r.load for r in rows if r.ratio is not None} >= {"NDR", "PDR"} and not any(r.paired for r in rows)
    assert "Run first against end-to-end-paper-example" in frame.render([report.section_of(page)])
    assert page.between[0].startswith("first against end-to-end-paper-example: ") and len(page.between) == 1


def test_the_ratio_between_runs_follows_the_rates_and_the_null_workload() -> None:
    def verdicts(*, null_too: bool) -> set[str]:
        old, new = example_run("old"), example_run("new")
        for run, factor in ((old, 1.0), (new, 0.8)):
            for point in run.points:
                chance = random.Random(point.id)
                scale = factor if null_too or not point.is_null else 1.0
                point.round_pps = [1e6 * scale * (1 + chance.gauss(0, 0.002)) for _ in range(6)] if point.round_pps else []
                if point.floor is not None and point.floor.throughput_pps is not None:
                    moved = 1e6 * (factor if null_too else 1.0)
                    point.floor = replace(point.floor, throughput_pps=Interval(moved, moved * 0.99, moved * 1.01))
        rows = [r for r in part_of(page_of(old, new), "flow-table").across[1] if r.ratio is not None]
        assert rows and all(r.ratio is not None and r.ratio.value == pytest.approx(1.0 if null_too else 0.8, rel=0.02) for r in rows)
        return {r.verdict for r in rows}

    assert verdicts(null_too=False) == {"slower"}
    assert verdicts(null_too=True) == {"undecided"}


def test_runs_of_one_variant_each_have_a_table_too() -> None:
    runs = [example_run("old"), example_run("new")]
    for run in runs:
        run.points = [p for p in run.points if p.workload in ("forward", "flow-table") and "portable" not in p.engines.values()]
    part = part_of(page_of(*runs), "flow-table")
    assert part.baseline is None and not part.ratios and part.across[1]
    assert not [r for r in part.across[1] if r.reason.startswith("this point is not in")]
    runs[1].points = [p for p in runs[1].points if p.frame == "64"]
    part = part_of(page_of(*runs), "flow-table")
    gone = [r for r in part.across[1] if r.verdict == "not comparable" and r.frame != "64"]
    assert gone and all(r.reason == "this point is not in new" and r.against == r.variant for r in gone)


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one run"):
        frame.write([report.section([])], tmp_path / "r.html")
    with pytest.raises(ValueError, match="baseline 'nowhere' is not among the runs"):
        frame.write([report.section([example_run()], "nowhere")], tmp_path / "r.html")
    with pytest.raises(OSError, match="No such file"):
        frame.write([report.section([example_run()])], tmp_path / "missing" / "r.html")
    assert not list(tmp_path.iterdir())
    nothing = replace(example_run(), points=[], warnings=[], failures=[])
    assert "Nothing was measured" in html(nothing)


def test_a_run_of_which_nothing_could_be_measured_says_why_at_its_head() -> None:
    run = rates_only()
    for p in run.points:
        p.throughput_pps = p.throughput_gbps = p.loss_ratio = p.latency = p.server_cpu_share = None
        p.unavailable, p.stages, p.floor = "memif: the peer never came", [], None
    text = html(run)
    head = text[text.index("<header") : text.index("</header>")]
    assert page_of(run).parts[0].answer.startswith("flow-table: the rate that the server sustains is not known: cannot run here: memif")
    assert "Nothing could be measured</strong>: cannot run here: memif: the peer never came" in head and "all known to" not in head


def test_no_interval_is_no_number(tmp_path: Path) -> None:
    run = rates_only()
    for p in run.points:
        if p.throughput_pps is not None:
            p.throughput_pps = Interval(p.throughput_pps.value, math.nan, math.nan)
        p.precision, p.converged, p.rounds, p.round_pps = math.nan, False, 1, p.round_pps[:1]
    page = page_of(run)
    assert embedded_json(page.data)
    assert "no interval" in frame.render([report.section_of(page)])
    assert {wording.weakness(p, 6) for p in run.points} == {"not converged, only 1 round"}


@pytest.mark.parametrize(
    ("ratio", "extra", "text"),
    [
        (
            Interval(0.912, 0.891, 0.934), Interval(14.2, 10.1, 18.3),
            "0.912 times the null workload's rate (95 % interval 0.891–0.934), "
            "14.2 ns (95 % interval 10.1 to 18.3) of server CPU time per packet beyond it",
        ),
        (
            Interval(1.05, 0.97, 1.13), Interval(-3.0, -9.0, 3.0),
            "1.05 times the null workload's rate (95 % interval 0.97–1.13), "
            "-3.00 ns (95 % interval -9.00 to 3.00) of server CPU time per packet beyond it",
        ),
        (
            Interval(0.9, math.nan, math.nan), Interval(-3.0, math.nan, math.nan),
            "0.900 times the null workload's rate, 3.00 ns less of server CPU time per packet (one round: no interval)",
        ),
    ],
)  # fmt: skip
def test_what_a_workload_costs_beyond_the_null_workload_has_its_intervals(ratio: Interval, extra: Interval, text: str) -> None:
    assert model._beyond_text(Beyond(ratio, extra)) == text
