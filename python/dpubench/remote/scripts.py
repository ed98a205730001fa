"""The commands that ssh runs on a target: constants. Whatever varies (folders, digests, archives) reaches them over standard input.

The words of a command line pass through the login shell of the account there, which may be any: so each is one line of ``/bin/sh`` between
single quotes that holds neither quotes, nor ``!``, nor a backslash before another, and uses no more of the shell than POSIX has.

What a login shell prints by itself comes first; the answer of a script begins behind its mark.
"""

from __future__ import annotations

from typing import Final

PROBE_MARK: Final = b"\ndpubench-probe/1\n"
INSTALL_MARK: Final = b"\ndpubench-install/1\n"
PURGE_MARK: Final = b"\ndpubench-purge/1\n"
#: The first line of ``dpubench-agent`` (native/agent/connection.hpp).
AGENT_MARK: Final = b"dpubench-agent/1\n"

#: Tells a folder of dpubench's from any other (native/agent/serve.hpp).
MARKER: Final = ".dpubench-target"
#: What the scripts and a bundle's own need there, besides the shell.
NEEDED: Final = ("tar", "gzip", "mkdir", "mv", "rm", "rmdir", "ls", "uname", "readlink", "dirname")


def _command(*lines: str) -> str:
    return "exec /bin/sh -c '" + " ".join(lines) + "'"


#: Folder in (may be empty). Out, a key and a value a line: what the machine is, and the folder's state.
PROBE: Final = _command(
    "IFS= read -r dir;",
    "echo; echo dpubench-probe/1;",
    '[ -n "$dir" ] || dir=${XDG_DATA_HOME:-$HOME/.local/share}/dpubench;',
    'case "$dir" in "~/"*) dir=$HOME/${dir#??};; /*) ;; *) dir=$HOME/$dir;; esac;',
    'printf "directory %s\\n" "$dir";',
    'printf "architecture %s\\n" "$(uname -m)";',
    f'for t in {" ".join(NEEDED)}; do command -v $t >/dev/null 2>&1 || echo "lacks $t"; done;',
    # A small userland has neither program, and what a shell says of that is no C library.
    "libc=; command -v getconf >/dev/null 2>&1 && libc=$(getconf GNU_LIBC_VERSION 2>/dev/null);",
    '[ -n "$libc" ] || { command -v ldd >/dev/null 2>&1 && libc=$(ldd --version 2>&1 | { IFS= read -r l; echo "$l"; }); };',
    'for l in /lib/ld-musl-*; do [ -z "$libc" ] && [ -e "$l" ] && libc=musl; done;',
    '[ -z "$libc" ] || printf "libc %s\\n" "$libc";',
    "state=absent;",
    'if [ -d "$dir" ]; then',
    "  state=foreign;",
    f'  if [ -f "$dir/{MARKER}" ]; then state=ours; elif [ -z "$(ls -A "$dir" 2>/dev/null)" ]; then state=empty; fi;',
    "fi;",
    "echo state $state;",
    "p=$dir;",
    'until [ -e "$p" ]; do p=${p%/*}; [ -n "$p" ] || p=/; done;',
    'if [ -d "$p" ]; then [ -w "$p" ] || printf "unwritable %s\\n" "$p"; else printf "blocked %s\\n" "$p"; fi;',
    'for b in "$dir"/bundles/*/manifest.json; do',
    '  if [ -f "$b" ]; then b=${b%/manifest.json}; printf "bundle %s\\n" "${b##*/}"; fi;',
    "done;",
    "echo end",
)

#: Folder, digest, ``keep`` or ``replace`` in, then the archive. It is unpacked beside, and gets its name when it is complete.
INSTALL: Final = _command(
    "umask 077;",
    "IFS= read -r dir; IFS= read -r digest; IFS= read -r mode;",
    'mkdir -p "$dir/bundles" || exit 3;',
    f': >"$dir/{MARKER}" || exit 3;',
    # What installs that were cut short left, or are they at work?
    'for t in "$dir"/bundles/.new.*; do [ -d "$t" ] && { kill -0 "${t##*.}" 2>/dev/null || rm -rf "$t"; }; done;',
    'new=$dir/bundles/.new.$$; tidy() { rm -rf "$new"; }; trap tidy EXIT; trap "exit 4" HUP INT TERM PIPE;',
    'mkdir "$new" || exit 3;',
    # The status of a pipeline is that of its last command alone.
    '{ gzip -dc || : >"$new/.bad"; } | tar -xf - -C "$new" || exit 3;',
    '[ -f "$new/.bad" ] && exit 3;',
    'set -- "$new"/dpubench-*;',
    '[ -x "$1/agent" ] && [ -f "$1/manifest.json" ] || { echo "the archive is no bundle of dpubench" >&2; exit 3; };',
    'if [ "$mode" = replace ] && [ -d "$dir/bundles/$digest" ]; then mv "$dir/bundles/$digest" "$new/.old" || exit 3; fi;',
    '[ -d "$dir/bundles/$digest" ] || mv "$1" "$dir/bundles/$digest" || exit 3;',
    "echo; echo dpubench-install/1",
)

#: Folder and digest in, then frames.
AGENT: Final = _command(
    "umask 077;",  # what it keeps there is the user's alone
    "IFS= read -r dir; IFS= read -r digest;",
    'exec "$dir/bundles/$digest/agent"',
)

#: Folder in. Removes what is ours in it, and itself when nothing else is there.
PURGE: Final = _command(
    "IFS= read -r dir;",
    f'[ -f "$dir/{MARKER}" ] || {{ echo "no folder of dpubench" >&2; exit 5; }};',
    'rm -rf "$dir/bundles" "$dir/cache" || exit 3;',
    f'rm -f "$dir/{MARKER}"; rmdir "$dir" 2>/dev/null;',
    "echo; echo dpubench-purge/1",
)
