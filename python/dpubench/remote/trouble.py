"""Explanations of ssh's messages on a failed connection, with advice."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

from dpubench.remote.destination import Destination

#: (pattern of ssh's output, explanation). ``{d}`` is the destination as typed, ``{h}`` the options of ssh-keygen that remove its key, ``{why}``
#: ssh's own words in parentheses. The first match counts: a changed host key is also one that cannot be verified.
_KNOWN: Final = (
    (
        r"(?P<why>REMOTE HOST IDENTIFICATION HAS CHANGED)",
        "its host key differs from the known key{why}: if the machine was installed again, compare the fingerprint and remove the old key "
        "with `ssh-keygen {h}`; if not, somebody may intercept the connection",
    ),
    (
        r"(?P<why>Host key verification failed|No .* host key is known for \S+)",
        "its host key is not known here{why}: connect once with `ssh {d}` and compare the fingerprint that it shows with the machine's",
    ),
    (
        r"(?P<why>Permission denied( \([^)]*\))?)",
        "it refuses the login{why}: a key must log you in without a question: run `ssh-copy-id {d}`, then try `ssh -o BatchMode=yes {d} true`",
    ),
    (
        r"(?P<why>Too many authentication failures)",
        "it refuses the login{why}: set IdentityFile to the right key and IdentitiesOnly to yes in ~/.ssh/config",
    ),
    (r"(?P<why>Could not resolve hostname .*)", "its host name is unknown{why}: try `ssh {d}`"),
    (r"(?P<why>Connection refused)", "nothing answers at its ssh port{why}: check that sshd runs there and that the port is right"),
    (
        r"(?P<why>No route to host|Network is unreachable|Connection timed out|Operation timed out)",
        "it cannot be reached{why}: check that the machine and the network are up",
    ),
    (r"(?P<why>Timeout, server .* not responding)", "it stopped answering{why}: it hangs, was switched off, or the network is down"),
    (
        r"(?P<why>Bad configuration option.*|terminating, \d+ bad configuration.*|Bad owner or permissions on .*)",
        "ssh cannot use its configuration{why}: correct it, then try `ssh {d}`",
    ),
    (
        r"(?P<why>kex_exchange_identification: .*|Connection (closed|reset) by .*|client_loop: .*|Connection to .* closed.*|.*Broken pipe)",
        "the connection was cut{why}",
    ),
)


def explain(errors: str, destination: Destination) -> str:
    """Return why the connection to ``destination`` ended, from ssh's standard error."""
    # Control characters of the other side must not reach this terminal.
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in errors)
    for pattern, meaning in _KNOWN:
        if found := re.search(pattern, text):
            return meaning.format(d=destination, h=_removal(text, destination), why=f" ({found['why'].strip().rstrip('.')[:200]})")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"the connection ended: {lines[-1][:300]}" if lines else "the connection ended without a message"


def _removal(text: str, destination: Destination) -> str:
    """Return the options of ``ssh-keygen`` that remove the known key. ssh tells its name and file, which the configuration may set (HostKeyAlias)."""
    name = re.search(r"Host key for (\S+) has changed", text)
    file = re.search(r"Offending \S+ key in (.+):\d+", text)
    words = ["-R", name[1] if name else destination.known_as]
    if file and Path(file[1]) != Path.home() / ".ssh/known_hosts":
        words = ["-f", file[1], *words]
    return shlex.join(words)
