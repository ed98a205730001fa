"""Make a wheel with the native programs inside: `make_wheel.py BUILD_FOLDER OUTPUT_FOLDER`.

The programs come as in a bundle (`dpubench bundle`): with every library that they need, the C library and its loader too. So the wheel runs where
Python's own packages run, whatever C library and whatever libraries the system has, and needs no compiler there. With them come the manual page, the
completion of shells, the documentation, and the notices of third parties.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dpubench import __version__, catalog, programs
from dpubench.bundles import archive, notices
from dpubench.cli import _completion, _manual, _surface
from dpubench.errors import UserError

ROOT: Final = Path(__file__).resolve().parent.parent
#: The oldest C library that the wheel was tried with (tests/python/wheel): pip takes it for that one and all later ones.
GLIBC: Final = "2_31"
#: In the package: where :func:`dpubench.programs.directory` looks for programs.
NATIVE: Final = "dpubench/native"
#: Below the environment that the wheel is installed in (the scheme `data`).
COMPLETIONS: Final = {
    "bash": "share/bash-completion/completions/dpubench",
    "zsh": "share/zsh/site-functions/_dpubench",
    "fish": "share/fish/vendor_completions.d/dpubench.fish",
}
#: A fixed time in the archive, so that the same build gives the same wheel.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def main() -> int:
    """Make the wheel; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":", 1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    try:
        wheel = make(given.build, given.output)
    except UserError as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    print(f"{wheel}: {wheel.stat().st_size / (1 << 20):.1f} MiB")
    return 0


def make(build: Path, output: Path, *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write the wheel of ``build`` to the folder ``output`` and return its path. @raises UserError"""
    architecture = archive.host_architecture()
    contents = archive.collected(build, architecture, more=(programs.CORES,))
    overview = contents[notices.OVERVIEW].decode()
    if notices.UNKNOWN in overview or "Packages without" in overview:
        raise UserError(f"the licence of a library is not known, so that nobody may pass the wheel on:\n{overview}")
    # QEMU loads the plugins from this folder.
    plugins = {name: contents[f"lib/{name}"] for name in (programs.TRACE_PLUGIN, programs.COUNT_PLUGIN) if f"lib/{name}" in contents}
    native = {f"{NATIVE}/{name}": data for name, data in {**contents, **archive.starters(contents), **plugins}.items()}
    operators = [str(entry["name"]) for entry in catalog.read_here(programs.operators_program(build)).operators]
    data = {f"dpubench-{__version__}.data/data/{name}": content for name, content in _shared(operators).items()}
    # The notices stand where tools that read a package's licences look.
    licences = {f"dpubench-{__version__}.dist-info/licenses/{name}": c for name, c in contents.items() if name.startswith(f"{notices.FOLDER}/")}
    licences[f"dpubench-{__version__}.dist-info/licenses/{notices.OVERVIEW}"] = contents[notices.OVERVIEW]
    with tempfile.TemporaryDirectory(prefix="dpubench-wheel-") as name:
        plain = _plain_wheel(Path(name))
        output.mkdir(parents=True, exist_ok=True)
        tag = f"py3-none-manylinux_{GLIBC}_{architecture}"
        whole = with_files(plain.read_bytes(), {**native, **data, **licences}, tag, compression)
        path = output / f"dpubench-{__version__}-{tag}.whl"
        half = Path(name) / path.name
        half.write_bytes(whole)
        shutil.move(half, path)
    return path


def _shared(operators: list[str]) -> dict[str, bytes]:
    """Return the files for the folders that all programs of an environment share, by their path below it."""
    commands = _surface.commands(operators)
    files = {path: _completion.script(shell, commands).encode() for shell, path in COMPLETIONS.items()}
    files["share/man/man1/dpubench.1"] = _manual.page(commands).encode()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        files[f"share/doc/dpubench/{page.relative_to(ROOT / 'docs')}"] = page.read_bytes()
    return files


def _plain_wheel(folder: Path) -> Path:
    """Make the wheel of the Python package alone, from a copy: setuptools writes into the folder that it works in."""
    copy = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "python", "pyproject.toml", "README.md", "LICENSE", "LICENSES"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(copy),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"the Python package cannot be packed:\n{done.stderr or done.stdout}")
    return next(folder.glob("*.whl"))


def with_files(plain: bytes, more: Mapping[str, bytes], tag: str, compression: int) -> bytes:
    """Return the wheel ``plain`` with further files and another tag, as the specification of binary distributions wants it."""
    with zipfile.ZipFile(io.BytesIO(plain)) as given:
        files = {info.filename: given.read(info) for info in given.infolist() if not info.is_dir()}
    files |= more
    info = next(name for name in files if name.endswith(".dist-info/WHEEL"))
    kept = [line for line in files[info].decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    files[info] = "\n".join([*kept, "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()
    record = info.replace("WHEEL", "RECORD")
    files.pop(record)
    lines = [f"{_field(name)},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items())]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", compression) as made:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _TIME)
            is_program = name.startswith(f"{NATIVE}/") and archive.is_executable(name.removeprefix(f"{NATIVE}/"))
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = compression
            made.writestr(entry, data)
    return raw.getvalue()


def _field(name: str) -> str:
    """Return a file's name as a field of CSV."""
    return '"' + name.replace('"', '""') + '"' if '"' in name or "," in name else name


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
