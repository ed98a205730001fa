"""The parser of ``ssh://[user@]host[:port]``, and the command lines for the system's ssh."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

from dpubench.errors import EnvironmentFault, UserError

#: Names another configuration file of ssh (``ssh -F``).
CONFIG_VARIABLE: Final = "DPUBENCH_SSH_CONFIG"
#: Seconds between keep-alive messages, and how many may be missing, unless the user's configuration sets them.
_ALIVE_S: Final = 15
_ALIVE_COUNT: Final = 3
_CONFIG_LIMIT_S: Final = 20.0

# ssh passes these to shells (ProxyCommand's %h, %r), so that they must not hold characters special to a shell.
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]*\$?")
_HOST: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:]+(%[A-Za-z0-9_.-]+)?")
_FORM: Final = "write ssh://[user@]host[:port]"


@dataclass(frozen=True)
class Destination:
    """The destination of ssh; ``host`` may be a name from the user's configuration of ssh."""

    host: str
    user: str = ""
    port: int = 0  #: 0: as the configuration says
    config: str = ""  #: configuration file of ssh; empty: the user's

    def __str__(self) -> str:
        """Return it as a person types it behind ``ssh``."""
        words = ["-p", str(self.port)] if self.port else []
        return " ".join([*words, f"{self.user}@{self.host}" if self.user else self.host])

    @property
    def known_as(self) -> str:
        """Return its name in ``known_hosts`` (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"), unless the configuration of ssh gives it another one."""
        return f"[{self.host}]:{self.port}" if self.port not in (0, 22) else self.host

    def command(self, remote: str, *options: str) -> list[str]:
        """Return the words that run the constant ``remote`` there. They hold no secret and leave the check of host keys as it is."""
        # -a -x: a device does not need the user's keys and display, even if the user's configuration forwards them.
        words = [*self._ssh(), "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", *options]
        return [*words, *self._where(), remote]

    def options(self) -> list[str]:
        """Return options for keep-alive messages, unless the user's configuration sets them.

        Raises:
            UserError: ssh cannot use its configuration.
            EnvironmentFault: `ssh -G` does not end.
        """
        try:
            told = subprocess.run(
                [*self._ssh(), "-G", *self._where()], capture_output=True, stdin=subprocess.DEVNULL, timeout=_CONFIG_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentFault(f"`ssh -G {self}` does not end: a `Match exec` in the configuration of ssh hangs") from None
        if told.returncode != 0:
            said = told.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UserError(f"ssh cannot use its configuration for {self}: {said[0] if said else f'status {told.returncode}'}")
        keys = dict(line.split(" ", 1) for line in told.stdout.decode("utf-8", "replace").splitlines() if " " in line)
        if keys.get("serveraliveinterval", "0") != "0":
            return []
        return ["-o", f"ServerAliveInterval={_ALIVE_S}", "-o", f"ServerAliveCountMax={_ALIVE_COUNT}"]

    def _ssh(self) -> list[str]:
        config = self.config or os.environ.get(CONFIG_VARIABLE)
        return ["ssh", "-F", config] if config else ["ssh"]

    def _where(self) -> list[str]:
        words = ["-p", str(self.port)] if self.port else []
        words += ["-l", self.user] if self.user else []
        return [*words, "--", self.host]


def missing_client() -> str:
    """Return why there is no ssh here; empty if there is."""
    return "" if shutil.which("ssh") else "`ssh` is not installed: install the package openssh-client"


def parse(spec: str, config: str = "") -> Destination:
    """Return the destination in ``spec``, reached with the configuration file ``config`` of ssh (empty: the user's).

    Raises:
        UserError: with its fault.
    """
    where = f"target {spec!r}"
    if any(c.isspace() or not c.isprintable() for c in spec):
        raise UserError(f"{where}: a destination cannot hold blanks or control characters: {_FORM}")
    rest = spec.removeprefix("ssh://")
    if rest == spec:
        raise UserError(f"{where}: is not an ssh target: {_FORM}")
    rest, slash, path = rest.partition("/")
    if path:
        raise UserError(f"{where}: a destination has no path: give the folder there with `dpubench target add NAME SPEC --directory {slash}{path}`")
    user, at, place = rest.rpartition("@")
    if ":" in user:
        raise UserError(f"{where}: a password does not belong on a command line: use a key or an agent of ssh")
    if at and not _USER.fullmatch(user):
        raise UserError(f"{where}: {user!r} is not a user name: {_FORM}")
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", place)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif place.count(":") > 1:
        raise UserError(f"{where}: write an IPv6 address in brackets: ssh://[{place}]")
    else:
        host, colon, port = place.partition(":")
        port = port if colon else None
    if not _HOST.fullmatch(host):
        raise UserError(f"{where}: {host!r} is not a host name: {_FORM}" if host else f"{where}: names no host: {_FORM}")
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise UserError(f"{where}: {port!r} is not a port: write a number from 1 to 65535")
    return Destination(host, user, int(port) if port else 0, config)
