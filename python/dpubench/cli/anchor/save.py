"""Keep this build, with its libraries, as what later ones are measured against.

`dpubench run --against anchor[:NAME]` alternates with it. It stays what it is when the sources are built anew or the system's libraries are upgraded.
"""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    name: str = typer.Argument("default", help="What it shall be called; one of that name is replaced."),
    build: Path | None = typer.Option(None, "--build", help="Keep this build folder instead of the installed programs."),
    plan: str = typer.Option(
        "", "--plan", help="A plan file or a built-in plan of study operators that `run --against` takes when it is given none."
    ),
    note: str = typer.Option("", "--note", help="A line about it, such as a release or a commit."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> int:
    from dataclasses import asdict

    from dpubench import anchors, studies
    from dpubench.cli import print_json
    from dpubench.errors import UserError
    from dpubench.plans.load import plan_text, read_plan

    text = ""
    if plan:
        is_file = plan.endswith((".yaml", ".yml")) or "/" in plan
        read, _ = read_plan(Path(plan) if is_file else studies.plan_path("operators", plan))
        if "--against" not in studies.find(read.study).run_options:
            raise UserError(f"--plan {plan}: is of study '{read.study}', which has no --against: give a plan of study operators")
        text = plan_text(read)
    if "\n" in note:
        raise UserError("--note: is one line")
    kept = anchors.save(name, build, note=note, plan=text)
    if json:
        print_json(asdict(kept) | {"path": str(kept.bundle)})
        return 0
    word = anchors.WORD if name == anchors.DEFAULT else f"{anchors.WORD}:{name}"
    print(f"anchor {kept.described()}: {kept.architecture}, {kept.bytes / (1 << 20):.1f} MiB in {kept.bundle.parent}")
    print(f"next: dpubench run --against {word} --fail-on regression")
    return 0
