"""The commands that ssh runs on a target. They are constants: all that varies (folders, digests, archives) comes over standard input.

The login shell of the account parses the words of a command line, and may be any shell. Each command is therefore one line of ``/bin/sh`` between
single quotes. It holds no quotes, no ``!``, and no backslash before another, and uses the shell language of POSIX only.

A login shell may print text first; the answer of a script begins behind its mark.
"""

from __future__ import annotations

from typing import Final

PROBE_MARK: Final = b"\ndpubench-probe/1\n"
INSTALL_MARK: Final = b"\ndpubench-install/1\n"
PURGE_MARK: Final = b"\ndpubench-purge/1\n"
#: The first line of ``dpubench-agent`` is this and the version of its frames (native/agent/connection.hpp).
AGENT_MARK: Final = b"dpubench-agent/"

#: File that marks a folder of dpubench's (native/agent/serve.hpp).
MARKER: Final = ".dpubench-target"
#: Programs that the scripts and those of a bundle need there, besides the shell.
NEEDED: Final = ("tar", "gzip", "mkdir", "mv", "rm", "rmdir", "ls", "uname", "readlink", "dirname")


def _command(*lines: str) -> str:
    return "exec /bin/sh -c '" + " ".join(lines) + "'"


#: Input: folder (may be empty). Output, a key and a value per line: facts on the machine, and the folder's state.
PROBE: Final = _command(
    "IFS= read -r dir;",
    "echo; echo dpubench-probe/1;",
    '[ -n "$dir" ] || dir=${XDG_DATA_HOME:-$HOME/.local/share}/dpubench;',
    'case "$dir" in "~/"*) dir=$HOME/${dir#??};; /*) ;; *) dir=$HOME/$dir;; esac;',
    'printf "directory %s\\n" "$dir";',
    'printf "architecture %s\\n" "$(uname -m)";',
    f'for t in {" ".join(NEEDED)}; do command -v $t >/dev/null 2>&1 || echo "lacks $t"; done;',
    # A small userland has neither program, and the shell's message on that names no C library.
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

#: Input: folder, digest, ``keep`` or ``replace``, then the archive. It is unpacked in a new folder, which is renamed when it is complete.
INSTALL: Final = _command(
    "umask 077;",
    "IFS= read -r dir; IFS= read -r digest; IFS= read -r mode;",
    'mkdir -p "$dir/bundles" || exit 3;',
    f': >"$dir/{MARKER}" || exit 3;',
    # Remove the folders of installs that were cut short, but not of those still at work.
    'for t in "$dir"/bundles/.new.*; do [ -d "$t" ] && { kill -0 "${t##*.}" 2>/dev/null || rm -rf "$t"; }; done;',
    'new=$dir/bundles/.new.$$; tidy() { rm -rf "$new"; }; trap tidy EXIT; trap "exit 4" HUP INT TERM PIPE;',
    'mkdir "$new" || exit 3;',
    # A pipeline has the status of its last command only.
    '{ gzip -dc || : >"$new/.bad"; } | tar -xf - -C "$new" || exit 3;',
    '[ -f "$new/.bad" ] && exit 3;',
    'set -- "$new"/dpubench-*;',
    '[ -x "$1/agent" ] && [ -f "$1/manifest.json" ] || { echo "the archive is not a bundle of dpubench" >&2; exit 3; };',
    'if [ "$mode" = replace ] && [ -d "$dir/bundles/$digest" ]; then mv "$dir/bundles/$digest" "$new/.old" || exit 3; fi;',
    '[ -d "$dir/bundles/$digest" ] || mv "$1" "$dir/bundles/$digest" || exit 3;',
    "echo; echo dpubench-install/1",
)

#: Input: folder and digest, then frames.
AGENT: Final = _command(
    "umask 077;",  # its files there are the user's alone
    "IFS= read -r dir; IFS= read -r digest;",
    'exec "$dir/bundles/$digest/agent"',
)

#: Input: folder. Removes dpubench's files in it, and the folder if nothing else is there.
PURGE: Final = _command(
    "IFS= read -r dir;",
    f'[ -f "$dir/{MARKER}" ] || {{ echo "not a folder of dpubench" >&2; exit 5; }};',
    'rm -rf "$dir/bundles" "$dir/cache" || exit 3;',
    f'rm -f "$dir/{MARKER}"; rmdir "$dir" 2>/dev/null;',
    "echo; echo dpubench-purge/1",
)
