"""A target on another machine, reached with the system's ssh. It runs its own bundle of the native programs, under ``dpubench-agent``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench import terminal
from dpubench.bundles import cache as bundle_cache
from dpubench.bundles.archive import ARCHITECTURES
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.remote import deploy, destination, scripts, trouble
from dpubench.remote.agent import AgentFault, Session, described
from dpubench.remote.channel import Channel, Silence
from dpubench.remote.programs import CONNECTION_FAILED, AgentProcess, Connection, run_request

SUMMARY: Final = "a machine reached with ssh and the user's ssh configuration"
EXAMPLES: Final = ("ssh://user@host",)

#: A script answers at once; the rest is time for ssh to connect, perhaps through jump hosts.
_SCRIPT_S: Final = 60.0
#: An archive always moves, if slowly; at its end a slow disk stores it.
_INSTALL_S: Final = 180.0
_MAX_ANSWER_BYTES: Final = 1 << 20
_LINGER_S: Final = 5.0
#: Most inputs in one query, so that their names fit a request.
_BATCH: Final = 500
#: Most characters of a name: each takes up to four bytes, and a file name has 255.
_NAME_CHARACTERS: Final = 60


@dataclass
class _Probe:
    """The facts that the first connection finds."""

    directory: str = ""
    architecture: str = ""
    libc: str = ""
    state: str = ""  #: state of the folder: absent, empty, ours, foreign
    lacks: list[str] = field(default_factory=list)
    unwritable: str = ""
    blocked: str = ""
    bundles: list[str] = field(default_factory=list)


class SshTarget:
    """A machine where programs run under an agent, which ends them when the connection ends."""

    label = ""
    times_mean_nothing = False
    is_here = False
    #: Advice where its disk is full.
    more_room = "free some space there, or choose another folder with `dpubench target add NAME SPEC --directory DIR`"

    def __init__(self, name: str, spec: str, directory: str = "", bundle: Path | None = None, config: str = "") -> None:
        """Make the target; ``config`` is a configuration file of ssh, the user's if empty. @raises UserError for a wrong spec"""
        self.name = name
        self.spec = spec
        self._destination = destination.parse(spec, config)
        check_directory(directory)
        self._directory = directory
        self._bundle = bundle
        self._options: Sequence[str] | None = None
        self._probe = _Probe()
        self._digest = ""
        self._session: Session | None = None
        self._programs: Connection | None = None
        self._description: dict[str, Any] = {}
        self._cache = ""

    def unavailable(self) -> str:
        return destination.missing_client()

    def open(self) -> None:
        if self._description:
            return
        if reason := self.unavailable():
            raise UserError(f"target {self.name}: {reason}")
        found = self._probe_there()
        archive, known = deploy.choose(found.architecture, self._bundle)
        self._digest = known.sha256
        if known.sha256 not in found.bundles:
            self._install(archive, "keep")
        try:
            self._verify(known)
        except AgentFault:  # A file there was changed or lost.
            self._install(archive, "replace")
            self._verify(known)
        session = self._agent()
        if any(b != known.sha256 for b in found.bundles):
            session.ask("tidy")
        self._cache = _text(session.ask("cache"), "path", self.name)
        self._description = described({**session.ask("describe"), **({"libc": found.libc} if found.libc else {})}, self.name)
        if not self.cpus():
            raise EnvironmentFault(f"target {self.name}: its agent names no usable CPU")

    def program(self, name: str) -> str:
        return name

    def cpus(self) -> list[int]:
        told = self._description["cpus"]
        free = set(told["free"])
        # Use CPUs last that another program keeps busy (a switch that polls, for example).
        return sorted(map(int, told["usable"]), key=lambda cpu: (cpu not in free, told["usable"].index(cpu)))

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> AgentProcess:
        request = run_request(self.name, program, arguments, environment)
        # Programs that run at the same time share a connection.
        if self._programs is None or not self._programs.is_open:
            self._programs = Connection(self._words(scripts.AGENT), self._agent_preamble(), self.name, self._explain)
        return self._programs.start(request)

    def place(self, files: Sequence[Path]) -> list[str]:
        wanted: list[dict[str, Any]] = [{"sha256": bundle_cache.sha256(f), "name": _name_there(f), "bytes": f.stat().st_size} for f in files]
        session = self._agent()
        placed: list[str] = []
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            paths = session.ask("have", files=batch).get("paths")
            if not isinstance(paths, list) or len(paths) != len(batch) or not all(p is None or isinstance(p, str) for p in paths):
                raise TargetLost(f"target {self.name}: its agent does not say which inputs it has")
            for file, what, there in zip(files[at:], batch, paths, strict=False):
                if there is None:
                    self._say(f"sending {file.name} ({what['bytes'] / (1 << 20):.1f} MiB)")
                placed.append(there if there is not None else session.put(file, what))
        return placed

    def cache_directory(self) -> str:
        return self._cache

    def least_window_s(self) -> float:
        return 0.0

    def describe(self) -> dict[str, Any]:
        return dict(self._description)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def reach(self) -> str:
        """Connect, and return a short text on the machine; nothing is installed there.

        Raises:
            UserError, EnvironmentFault: it cannot be reached, or cannot be measured.
        """
        found = self._probe_there()
        return f"the machine answers ({found.architecture}); programs and inputs go to {found.directory}"

    def purge(self) -> str:
        """Remove dpubench's files there and return the folder.

        Raises:
            UserError: the folder is not dpubench's.
            EnvironmentFault: it cannot be reached or changed.
        """
        directory = self._probe_there(to_use=False).directory
        if self._probe.state == "absent":
            return directory
        if self._probe.state != "ours":
            raise UserError(f"target {self.name}: {directory}: has no mark of dpubench: nothing in it is removed")
        self._script(scripts.PURGE, [directory], b"", scripts.PURGE_MARK, f"{directory} cannot be removed", _INSTALL_S)
        return directory

    # --- below: the connection

    def _words(self, script: str) -> list[str]:
        if self._options is None:
            self._options = self._destination.options()
        return self._destination.command(script, *self._options)

    def _explain(self, errors: str) -> str:
        return f"{self._destination}: {trouble.explain(errors, self._destination)}"

    def _say(self, what: str) -> None:
        terminal.note(f"target {self.name}: {what}")

    def _probe_there(self, *, to_use: bool = True) -> _Probe:
        answer = self._script(scripts.PROBE, [self._directory], b"", scripts.PROBE_MARK, "the machine cannot be examined", _SCRIPT_S)
        self._probe = found = _parse_probe(answer)
        if not found.directory.startswith("/") or not found.state:
            raise EnvironmentFault(f"target {self.name}: its shell answers, but not as /bin/sh does: {_shown(answer)}")
        if not to_use:
            return found
        folder = "choose another with `dpubench target add NAME SPEC --directory DIR`"
        if found.lacks:
            raise UserError(f"target {self.name}: there is no {', no '.join(found.lacks)} there: install what is missing")
        if found.architecture not in ARCHITECTURES:
            known = " and ".join(ARCHITECTURES)
            raise UserError(f"target {self.name}: is {found.architecture or 'of an unknown architecture'}: bundles exist only for {known}")
        if found.blocked:
            raise UserError(f"target {self.name}: {found.directory}: {found.blocked} is not a folder: {folder}")
        if found.state == "foreign":
            raise UserError(f"target {self.name}: {found.directory}: holds files that do not belong to dpubench: {folder}")
        if found.unwritable:
            raise UserError(f"target {self.name}: {found.directory}: {found.unwritable} is not writable: {folder}")
        return found

    def _install(self, archive: Path, mode: str) -> None:
        self.close()
        try:
            data = archive.read_bytes()
        except OSError as error:
            raise EnvironmentFault(f"{archive}: {error.strerror}") from None
        self._say(f"sending the native programs ({len(data) / (1 << 20):.0f} MiB) to {self._probe.directory}")
        lines = [self._probe.directory, self._digest, mode]
        self._script(scripts.INSTALL, lines, data, scripts.INSTALL_MARK, f"the bundle cannot be installed in {self._probe.directory}", _INSTALL_S)

    def _verify(self, known: deploy.Known) -> None:
        self._agent().ask("verify", manifest=known.manifest_sha256)

    def _agent_preamble(self) -> bytes:
        return "".join(f"{line}\n" for line in (self._probe.directory, self._digest)).encode("utf-8", "surrogateescape")

    def _agent(self) -> Session:
        """Return the session with the agent; start a new one if it has ended, as it does after a long silence."""
        if self._session is None or not self._session.alive:
            self.close()
            self._session = Session(self._words(scripts.AGENT), self._agent_preamble(), self.name, self._explain)
        return self._session

    def _script(self, script: str, lines: Sequence[str], data: bytes, mark: bytes, purpose: str, silence_s: float) -> str:
        """Return the output of a script behind its mark. @raises TargetLost, EnvironmentFault"""
        with Channel(self._words(script)) as channel:
            channel.send("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            channel.send(data, last=True)
            try:
                while not channel.ended:
                    channel.pump(silence_s)
                    if len(channel.received) > _MAX_ANSWER_BYTES:
                        raise EnvironmentFault(
                            f"target {self.name}: {purpose}: its output does not end: {_shown(channel.received[:60].decode('utf-8', 'replace'))}"
                        )
            except Silence:
                raise TargetLost(f"target {self.name}: {self._destination}: no answer within {silence_s:.0f} s") from None
            status = channel.finish(_LINGER_S)
            said = channel.errors.decode("utf-8", "replace")
            noise, found, answer = bytes(channel.received).partition(mark)
        if found and (status == 0 or status is None):
            return answer.decode("utf-8", "surrogateescape")
        if status == CONNECTION_FAILED:
            raise TargetLost(f"target {self.name}: {self._explain(said)}")
        lines = [_shown(line) for line in said.splitlines() if line.strip()]
        full = next((line for line in lines if "No space left" in line or "quota exceeded" in line), "")
        reason = full or (lines[-1] if lines else _shown(noise.decode("utf-8", "replace"))) or f"status {status}"
        if full:
            reason += f": {self.more_room}"
        raise EnvironmentFault(f"target {self.name}: {purpose}: {reason}")


#: Settings of a registered target that this kind takes, besides its specification.
REGISTERED: Final = ("directory", "bundle")


def make(name: str, spec: str, directory: str = "", bundle: Path | None = None) -> SshTarget:
    """Return the target ``spec``, called ``name``; ``directory`` holds programs and inputs there. @raises UserError for a wrong spec"""
    return SshTarget(name, spec, directory, bundle)


def check_directory(directory: str) -> None:
    """Check that a folder's name is one line, because it goes to the target as a line. @raises UserError when it is more"""
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in directory):
        raise UserError(f"--directory {directory!r}: a name with a line break or another control character cannot be used: choose another folder")


def _parse_probe(answer: str) -> _Probe:
    found = _Probe()
    for line in answer.splitlines():
        key, _, value = line.partition(" ")
        if key in ("lacks", "bundle"):
            (found.lacks if key == "lacks" else found.bundles).append(value)
        elif key in ("directory", "architecture", "libc", "state", "unwritable", "blocked"):
            setattr(found, key, value)
    return found


def _text(answer: Mapping[str, Any], key: str, name: str) -> str:
    if not isinstance(value := answer.get(key), str):
        raise TargetLost(f"target {name}: its agent gave no {key}")
    return value


def _name_there(file: Path) -> str:
    """Return a name that any file system takes and any reader can print; the digest identifies the content."""
    text = os.fsencode(file.name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() and c != "/" else "_" for c in text)[-_NAME_CHARACTERS:]


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text.strip())[:300]
