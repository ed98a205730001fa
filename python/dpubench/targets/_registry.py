"""Names of targets, kept in ``$XDG_CONFIG_HOME/dpubench/targets.yaml``, which holds neither keys nor passwords."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import yaml

from dpubench.errors import EnvironmentFault, PlanError, Problem, UserError, nearest
from dpubench.plans import yaml_lines

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")
_KEYS: Final = ("spec", "directory", "bundle")


@dataclass(frozen=True)
class Entry:
    """A target that has a name."""

    spec: str
    directory: str = ""  #: ssh only: folder there for programs and inputs; empty: the default folder
    bundle: str = ""  #: ssh only: archive for the target; empty: one of this installation's programs


def path() -> Path:
    """Return the file of the names."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "dpubench" / "targets.yaml"


def load() -> dict[str, Entry]:
    """Return every name, in the order of the file.

    Raises:
        UserError: the file's faults, with lines.
    """
    file = path()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UserError(f"{file}: is not UTF-8 text") from None
    except OSError as error:
        raise EnvironmentFault(f"{file}: {error.strerror}") from None
    if all(not line.strip() or line.startswith("#") for line in text.splitlines()):
        return {}
    data, lines = yaml_lines.parse(text, str(file), "file of targets")
    problems: list[Problem] = []
    entries: dict[str, Entry] = {}
    for name, value in data.items():
        if fault := name_fault(name):
            problems.append(Problem(fault, name, lines.get((name,))))
        elif not isinstance(value, dict) or not isinstance(value.get("spec"), str):
            problems.append(Problem("needs a `spec`, such as ssh://user@host", name, lines.get((name,))))
        elif wrong := [k for k, v in value.items() if k not in _KEYS or not isinstance(v, str)]:
            known = "must be text" if wrong[0] in _KEYS else f"is unknown{nearest(wrong[0], _KEYS)}"
            problems.append(Problem(known, f"{name}.{wrong[0]}", lines.get((name, wrong[0]))))
        else:
            entries[name] = Entry(**value)
    if problems:
        raise PlanError(str(file), problems)
    return entries


def name_fault(name: str) -> str:
    """Return why a target cannot have this name; empty if it can."""
    from dpubench.targets import kinds

    if not _NAME.fullmatch(name):
        return f"{name!r} cannot name a target: use at most 63 letters, digits, '-', '_' and '.', and no '-' or '.' first"
    return f"'{name}' is a kind of target: choose another name" if name in kinds() else ""


@contextlib.contextmanager
def change() -> Iterator[dict[str, Entry]]:
    """Yield the names for changes, and write them when the block ends well. Two callers at once wait for each other.

    Raises:
        UserError: as :func:`load`.
        EnvironmentFault: it cannot be written.
    """
    file = path()
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with (file.parent / ".targets.lock").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = load()
            yield entries
            shown = {name: {k: v for k, v in asdict(entry).items() if v} for name, entry in entries.items()}
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write("# Targets of dpubench: `dpubench target add`, `dpubench target remove`.\n")
                if shown:
                    yaml.safe_dump(shown, out, sort_keys=False, allow_unicode=True)
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(file)
    except OSError as error:
        raise EnvironmentFault(f"{file}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
