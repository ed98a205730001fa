"""Tests of the budget on a slow target: a program that would take hours is ended when the time is spent, and what it measured is kept."""

from __future__ import annotations

from conftest import Bench
from dpubench import schemas
from dpubench.run.work import Budget
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.rounds import windows_of

#: Three configurations with three or two engines that are all measured, so that nothing has to be chosen.
ALL = ("run", "--name", "r", "--engine", "all", "--operator", "aes,crc,lookup")


def run_of_a_slow_target(bench: Bench, *words: str) -> list[str]:
    """Run within a budget of a few seconds; return what the record says was left out. Without the budget the run would take hours."""
    done = bench(*words)
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert schemas.fault("run", record) == "" and record["status"] == "complete" and record["failures"] == []
    assert not any(point["failure"] for point in record["points"])
    assert bench.workers() == []
    for command in ("show", "report"):
        assert bench(command, "r").returncode == 0
    return [line for line in record["left_out"] if "the budget" in line]


def measured(bench: Bench) -> set[str]:
    """Return the configurations with a window."""
    return {name for name in windows_of(RunDirectory(bench.results / "r")).column("group").to_pylist() if name}


def test_preparation_that_takes_hours_does_not_overrun_the_budget(bench: Bench) -> None:
    """Before the first round, the cost of preparation is not known, so that no estimate can leave a configuration out."""
    bench.script(stall={"prepared": 3})
    left_out = run_of_a_slow_target(bench, *ALL, "--budget", "3s")
    record = bench.record("r")
    assert [r["whole"] for r in record["rounds"]] == [False]
    kept, dropped = measured(bench), {line.partition(": ")[0].partition(" ")[0] for line in left_out}
    assert kept and dropped and {c["id"] for c in record["configurations"]} == kept | dropped
    assert any(line.endswith(": the budget was spent before its turn in round 1 (--budget)") for line in left_out)
    assert {w["code"] for w in record["warnings"]} == {"few-rounds"}


def test_windows_that_take_hours_do_not_overrun_it(bench: Bench) -> None:
    """The process prepares and measures one configuration after another; the second or third one stalls in its windows."""
    bench.script(stall={"windows": 230})
    (bench.folder / "p.yaml").write_text("study: operators\nengines: all\ncycles: {min: 20, max: 20}\noperators: [aes, crc]\n")
    assert run_of_a_slow_target(bench, "run", "p.yaml", "--name", "r", "--budget", "3s")
    assert measured(bench)


def test_the_choice_of_engines_has_a_share_of_it(bench: Bench) -> None:
    """Each operator's default comes first, so that the budget leaves out the least."""
    engines = ["portable", "openssl", "isal", "ipsec-mb"]
    bench.script(engines={"aes": engines, "crc": engines}, stall={"prepared": 8})
    left_out = run_of_a_slow_target(bench, "run", "--name", "r", "--operator", "aes,crc", "--budget", "10s", "--rounds", "2")
    xts = "aes/mode=xts,size=1024/t1/b32/stream"
    assert left_out == [f"{xts}: the budget was spent before the choice of its engines (--budget)"]
    assert xts not in measured(bench) and len(measured(bench)) == 2


def test_programs_that_take_turns_keep_it(bench: Bench) -> None:
    """Two builds prepare a chunk of configurations, whose windows then take turns."""
    foreign = [f"more{n}" for n in range(10)]
    bench.script(foreign=foreign, stall={"windows": 60})
    (bench.folder / "p.yaml").write_text("study: operators\nengines: all\ncycles: {min: 3, max: 3}\nsilence: 60s\n")
    words = ("run", "p.yaml", "--name", "r", "--operator", ",".join(foreign), "--against", str(bench.programs), "--budget", "4s")
    assert run_of_a_slow_target(bench, *words)
    assert measured(bench)


def test_an_interrupted_run_gets_its_rounds_whatever_was_spent() -> None:
    budget = Budget(10.0, spent_s=25.0, reserve_s=0.5)
    assert budget.left_s() == -15.0 and budget.left_with_reserve_s() == -14.5
    budget.grant(6.0)
    assert budget.left_s() == 6.0
    budget.grant(2.0)  # there is more already
    assert budget.left_s() == 6.0
