"""Save this build with its libraries, to compare later builds with it.

`dpubench run --against anchor[:NAME]` alternates with it. It does not change when you build the sources anew or upgrade the system's libraries.
"""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    name: str = typer.Argument("default", help="Name of the anchor; an anchor of that name is replaced."),
    build: Path | None = typer.Option(None, "--build", help="Save this build folder instead of the installed programs."),
    plan: str = typer.Option(
        "", "--plan", help="A plan file, or a built-in plan of study operators; `run --against` uses it when you name no study or plan."
    ),
    note: str = typer.Option("", "--note", help="A line about the build, such as a release or a commit."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> int:
    from dataclasses import asdict

    from dpubench import anchors, studies
    from dpubench.errors import UserError
    from dpubench.plans.load import plan_text, read_plan
    from dpubench.terminal import print_json

    text = ""
    if plan:
        is_file = plan.endswith((".yaml", ".yml")) or "/" in plan
        read, _ = read_plan(Path(plan) if is_file else studies.plan_path("operators", plan))
        if "--against" not in studies.find(read.study).run_options:
            raise UserError(f"--plan {plan}: its study '{read.study}' has no --against: give a plan of study operators")
        text = plan_text(read)
    if "\n" in note:
        raise UserError("--note has several lines: give one line")
    kept = anchors.save(name, build, note=note, plan=text)
    if json:
        print_json(asdict(kept) | {"path": str(kept.bundle)})
        return 0
    word = anchors.WORD if name == anchors.DEFAULT else f"{anchors.WORD}:{name}"
    print(f"anchor {kept.described()}: {kept.architecture}, {kept.bytes / (1 << 20):.1f} MiB in {kept.bundle.parent}")
    print(f"next: dpubench run --against {word} --fail-on regression")
    return 0
