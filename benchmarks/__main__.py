"""What the harness costs and what the instrument can see, as a table of claims. docs/benchmarks.md tells how to read it.

Figures are ratios of things measured side by side; exit status 1 when a claim is missed, undecided, or could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from dpubench import signals
from dpubench.analysis import tables
from dpubench.errors import Exit, Interrupted, UserError
from dpubench.programs import OPERATORS
from dpubench.workers.process import WorkerFault

from benchmarks import bare, cores, datapath, device, distinct, instrument, layouts, orientation, overhead, portable, startup, stress
from benchmarks.apart import Apart
from benchmarks.common import ROOT, Bench, Claim

Part = Callable[[Bench], Iterable[Claim]]
PARTS: dict[str, Part] = {
    "overhead": overhead.measure,
    "startup": startup.measure,
    "bare": bare.measure,
    "distinct": distinct.measure,
    "portable": portable.measure,
    "device": device.measure,
    "datapath": datapath.measure,
    "cores": cores.measure,
    "instrument": instrument.measure,
    "layouts": layouts.measure,
    "stress": stress.measure,
    "orientation": orientation.measure,
}
APART = "apart"  # runs around all others
HEADER = ("part", "claim", "measured (95 % interval)", "limit", "verdict")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts. Return 0 if every claim holds, 130 after Ctrl-C, SIGTERM or a hang-up."""
    given = _arguments(arguments)
    # A shell that starts this in the background makes it ignore SIGINT; processes started here must end all the same.
    for number in signals.ending():
        signal.signal(number, signals.handler(_interrupt))
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    load = os.getloadavg()[0]
    names = list(dict.fromkeys(given.only or [*PARTS, APART]))
    kept: Kept | None = None
    interrupted = False
    try:
        with tempfile.TemporaryDirectory(prefix="dpubench-bench-") as scratch:
            bench = Bench(given.build.resolve(), given.quick, Path(scratch))
            head = {
                "schema": "dpubench.bench/1", "when": when, "quick": given.quick, "load_before": load,
                "machine": bench.catalog.hello["machine"], "build": bench.catalog.hello["build"],
            }  # fmt: skip
            kept = Kept(given.output, head, names)
            for claim in _claims(bench, names, given.gap * 60, kept.ended):
                kept.add(claim)
                print(f"[{kept.elapsed_s():5.0f} s] {claim.part}: {claim.claim}: {claim.measured} {claim.verdict}", file=sys.stderr, flush=True)
    except (KeyboardInterrupt, Interrupted):
        interrupted = True
    except UserError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if kept is None or (interrupted and not kept.claims):
        print(f"bench: interrupted; no claim was judged, and {given.output} was not written", file=sys.stderr)
        return Exit.INTERRUPTED
    status = kept.told(load)
    if interrupted:
        print(f"bench: interrupted; not judged to the end: {', '.join(kept.left)}", file=sys.stderr)
        return Exit.INTERRUPTED
    return status


class Kept:
    """What was judged until now. It is on disk after each claim, so that neither Ctrl-C nor a crash costs the hour before."""

    def __init__(self, output: Path, head: dict[str, Any], parts: Sequence[str]) -> None:
        self.claims: list[Claim] = []
        self.left = list(parts)  #: parts that are not done yet
        self._output, self._head = output, head
        self._started = time.monotonic()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def add(self, claim: Claim) -> None:
        """Keep a claim."""
        self.claims.append(claim)
        self._write()

    def ended(self, part: str) -> None:
        """Take note that a part is done."""
        self.left.remove(part)
        if self.claims:
            self._write()

    def told(self, load: float) -> int:
        """Print the table, and what failed. Return the exit status."""
        print(tables.table(HEADER, [_row(c) for c in self.claims]))
        failed = [c for c in self.claims if c.failed]
        judged = sum(bool(c.verdict) for c in self.claims)
        print(f"\n{len(failed)} of {judged} claims failed{_counts(failed)}; details: {self._output / 'bench.md'}")
        for claim in self.claims:
            if claim.verdict == "undecided" and claim.may_be_undecided:
                print(f"undecided, and no failure: {claim.claim}: {claim.may_be_undecided}")
        if load > 0.5:
            print(f"the machine was not idle when this began (load {load:.1f}): absolute times and power suffer from it")
        return 1 if failed else 0

    def _write(self) -> None:
        head = self._head | {"elapsed_s": round(self.elapsed_s()), "parts_left": self.left}
        self._output.mkdir(parents=True, exist_ok=True)
        whole = json.dumps(head | {"claims": [asdict(c) for c in self.claims]}, indent=1) + "\n"
        for name, text in (("bench.json", whole), ("bench.md", markdown(head, self.claims))):
            # A file under its name is whole at any time.
            new = self._output / f"{name}.new"
            try:
                new.write_text(text, encoding="utf-8")
                new.replace(self._output / name)
            finally:
                new.unlink(missing_ok=True)


def _interrupt(_number: int) -> None:
    raise KeyboardInterrupt


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=[*PARTS, APART], help=f"this part ({', '.join([*PARTS, APART])}); may be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer points and repeats, about five minutes: that everything works, with rougher figures"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks-out", help="folder for bench.json and bench.md (default: benchmarks-out)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder, configured with -Dtests=true (default: build)")
    parser.add_argument(
        "--gap", type=float, default=0, metavar="MINUTES", help="least time between the two runs of part apart (default: what the rest takes)"
    )
    given = parser.parse_args(arguments)
    if not any((given.build / folder / OPERATORS).is_file() for folder in ("", "native")):
        parser.error(f"--build {given.build}: holds no {OPERATORS}; run `make build-tests`")
    return given


def _claims(bench: Bench, names: Sequence[str], gap_s: float, ended: Callable[[str], None]) -> Iterator[Claim]:
    """Yield the claims of the parts ``names``; call ``ended`` with the name of each part that is done."""
    apart = Apart(bench) if APART in names else None
    broken: list[Claim] = []

    def first() -> Iterator[Claim]:
        if apart is not None:
            apart.first()
        return iter(())

    for claim in _guarded(APART, first):
        broken.append(claim)
        yield claim
    for name, part in PARTS.items():
        if name in names:
            yield from _guarded(name, partial(part, bench))
            ended(name)
    if apart is not None:
        if not broken:
            yield from _guarded(APART, partial(apart.second, gap_s))
        ended(APART)


def _guarded(name: str, part: Callable[[], Iterable[Claim]]) -> Iterator[Claim]:
    """Yield the claims of a part; if it breaks, yield one that tells so, and the other parts go on."""
    try:
        yield from part()
    except Interrupted:
        raise
    except (UserError, WorkerFault) as error:
        yield Claim(name, "the part could be measured", str(error), "", "not run")
    except Exception as error:  # a fault of the bench: told whole, and the hours of the other parts are not lost
        traceback.print_exc()
        yield Claim(name, "the part could be measured", f"{type(error).__name__}: {error}", "", "not run")


def _counts(failed: Sequence[Claim]) -> str:
    """Return, in brackets, the number of ``failed`` per verdict, or an empty string without any."""
    counts = Counter(claim.verdict for claim in failed)
    return f" ({', '.join(f'{number} {verdict}' for verdict, number in sorted(counts.items()))})" if failed else ""


def _row(claim: Claim) -> tuple[str, ...]:
    return (claim.part, claim.claim, claim.measured, claim.limit, claim.verdict)


def markdown(head: dict[str, Any], claims: Sequence[Claim]) -> str:
    """Return the table, and the data behind each of its ratios."""
    lines = [
        f"# make bench, {head['when']}{' (--quick)' if head['quick'] else ''}", "",
        f"{head['machine'].get('cpu', '')}, {head['build'].get('compiler', '')}, revision {head['build'].get('revision', '')}; "
        f"{head['elapsed_s']} s; load {head['load_before']:.1f} before it began.", "",
        *([f"**Not judged to the end: {', '.join(head['parts_left'])}.**", ""] if head["parts_left"] else []),
        "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER),
    ]  # fmt: skip
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _row(c)) + " |" for c in claims]
    for claim in claims:
        found = claim.details.get("ratios")
        if isinstance(found, dict) and len(found) > 1:
            lines += ["", f"## {claim.claim}", "", "| configuration | ratio | 95 % interval |", "|---|---|---|"]
            lines += [
                f"| {key} | {r['ratio']:.3g}{' of ' + r['of'] if 'of' in r else ''} | {r['low']:.3g} to {r['high']:.3g} |" for key, r in found.items()
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
