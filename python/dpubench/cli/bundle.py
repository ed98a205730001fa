"""Pack the native programs, their libraries and the loader into one archive that runs on any Linux of an architecture."""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    arch: str = typer.Option("", "--arch", help="aarch64 or x86_64 (default: this machine's)."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The archive (default: dpubench-VERSION-ARCH.tar.gz here)."),
    build: Path | None = typer.Option(None, "--build", help="Pack this build folder instead of compiling."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> int:
    from dpubench.bundles import archive as bundle
    from dpubench.errors import UserError, nearest
    from dpubench.terminal import print_json

    architecture = arch or bundle.host_architecture()
    if architecture not in bundle.ARCHITECTURES:
        raise UserError(f"--arch {architecture}: there are no bundles for this architecture{nearest(architecture, bundle.ARCHITECTURES)}")
    target = output or Path(f"{bundle.folder_name(architecture)}.tar.gz")
    if not target.absolute().parent.is_dir():
        raise UserError(f"--output {target}: there is no folder {target.absolute().parent}")
    made = bundle.pack(build if build is not None else bundle.build(architecture), architecture, target)
    if json:
        print_json(made.record())
        return 0
    present, missing = bundle.engines(list(made.files))
    mib = target.stat().st_size / (1 << 20)
    drivers = bundle.drivers(list(made.files))
    layouts = bundle.layouts(list(made.files))
    print(
        f"{target}: {architecture}, {mib:.1f} MiB, {len(made.files)} files, {present} engine modules, {missing} missing, {layouts} code layouts, "
        f"{drivers} DPDK drivers"
    )
    print(f"sha256 {made.sha256}")
    print(f"on the target: tar xzf {target.name} && ./{bundle.folder_name(architecture)}/run --list")
    return 0
