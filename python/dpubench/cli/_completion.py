"""Scripts that complete commands in a shell, made from the command line itself (:mod:`dpubench.cli._surface`).

A script holds all words, and asks nobody: to start Python at every press of the key takes too long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dpubench.cli._surface import FILES, RUNS, Command, Parameter

_HEAD: Final = "# Completes dpubench. Made by `dpubench completion {shell}`."
#: Prints the names of runs in a shell: ``latest`` and the folders of results.
_LIST_RUNS: Final = """\
    local results=${DPUBENCH_RESULTS:-results} run
    for run in "$results"/*/; do run=${run%/}; [ -e "$run/run.json" ] && echo "${run##*/}"; done"""


def script(shell: str, commands: Sequence[Command]) -> str:
    """Return the script for ``shell``, a key of :data:`SHELLS`."""
    return SHELLS[shell](commands)


def _bash(commands: Sequence[Command]) -> str:
    return "\n".join([
        _HEAD.format(shell="bash"),
        "_dpubench_runs() {", _LIST_RUNS, "}",
        "_dpubench() {",
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word i options='' words='' places='' before=''",
        "    COMPREPLY=()",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        word=${COMP_WORDS[i]}",
        f"        case \"$path $word\" in {'|'.join(map(_pattern, commands[1:]))})",
        "            path=${path:+$path }$word ;;",
        "        esac",
        "    done",
        "    case $path in",
        *(f"        {_path(c)}) options={_quoted(_options(c))} words={_quoted(_arguments(c))} places={_quoted(_places(c))} ;;" for c in commands),
        "    esac",
        "    if [[ $cur == -* ]]; then",
        "        words=$options places=''",
        "    else",
        '        case "$path $prev" in',
        *(f"            {_after(path, p)}) words={_quoted(' '.join(p.words))} places={_quoted(_places_of(p))} ;;" for path, p in _valued(commands)),
        "        esac",
        "    fi",
        "    # In a list the last word is completed.",
        "    if [[ $cur == *,* && $places != *files* ]]; then before=${cur%,*},; cur=${cur##*,}; fi",
        "    [[ $places == *runs* ]] && words=\"$words latest $(_dpubench_runs)\"",
        "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"$cur\")",
        "    [[ $places == *files* ]] && { compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$cur\"); }",
        "    [[ ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace",
        "    return 0",
        "}",
        "complete -F _dpubench dpubench", "",
    ])  # fmt: skip


def _zsh(commands: Sequence[Command]) -> str:
    return "\n".join([
        "#compdef dpubench", _HEAD.format(shell="zsh"),
        "_dpubench_runs() {", _LIST_RUNS, "}",
        "_dpubench() {",
        "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} path_of='' word places=''",
        "    local -a options plain",
        "    for word in ${words[2,CURRENT-1]}; do",
        f"        case \"$path_of $word\" in {'|'.join(_pattern(c) for c in commands[1:])}) path_of=\"${{path_of:+$path_of }}$word\" ;; esac",
        "    done",
        "    case $path_of in",
        *(f"        {_path(c)}) options=({_listed(_hinted(c))}) plain=({_listed(_arguments(c).split())}) places={_quoted(_places(c))} ;;"
          for c in commands),
        "    esac",
        "    if [[ $cur == -* ]]; then _describe option options; return; fi",
        '    case "$path_of $prev" in',
        *(f"        {_after(path, p)}) plain=({_listed(p.words)}) places={_quoted(_places_of(p))} ;;" for path, p in _valued(commands)),
        "    esac",
        "    [[ $places == *runs* ]] && plain+=(latest ${(f)\"$(_dpubench_runs)\"})",
        "    (( ${#plain} )) && _values -s , value $plain",
        "    [[ $places == *files* ]] && _files",
        "    return 0",
        "}",
        'if [[ $funcstack[1] == _dpubench ]]; then _dpubench "$@"; else compdef _dpubench dpubench; fi', "",
    ])  # fmt: skip


def _fish(commands: Sequence[Command]) -> str:
    """Return the script for fish, which has a rule a line."""
    known = " ".join(_fish_quoted(" ".join(c.path)) for c in commands[1:])
    lines = [
        _HEAD.format(shell="fish"),
        "function __dpubench_at --description 'Whether the command so far is the given one'",
        "    set -l path",
        "    for word in (commandline -xpc 2>/dev/null; or commandline -opc)[2..]",
        f"        contains -- (string join -- ' ' $path $word) {known}; and set -a path $word",
        "    end",
        "    test \"$path\" = \"$argv\"",
        "end",
        "function __dpubench_runs",
        "    set -l results results",
        "    set -q DPUBENCH_RESULTS; and set results $DPUBENCH_RESULTS",
        "    for run in $results/*/run.json; string split -r -m2 / $run | sed -n 2p; end",
        "    echo latest",
        "end",
        "complete -c dpubench -f",
    ]  # fmt: skip
    summaries = {" ".join(c.path): c.summary for c in commands}
    for command in commands:
        at = f"-n '__dpubench_at {' '.join(command.path)}'"
        for name in command.commands:
            lines.append(f"complete -c dpubench {at} -a {name} -d {_fish_quoted(summaries[' '.join((*command.path, name))])}")
        for p in command.parameters:
            words = [_fish_quoted(" ".join(p.words))] if p.words else []
            values = [f"-a {words[0]}"] if words else []
            values += ["-a '(__dpubench_runs)'"] if RUNS in p.places else []
            files = ["-F"] if FILES in p.places else []
            if not p.is_option:
                lines += [f"complete -c dpubench {at} {' '.join([*values, *files])}"] if values or files else []
                continue
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in p.names)
            needs = ["-r", *(files or ["-f"])] if p.takes_value else []
            lines.append(f"complete -c dpubench {at} {' '.join([names, *needs, *values])} -d {_fish_quoted(p.help)}")
    return "\n".join([*lines, ""])


SHELLS: Final[Mapping[str, Callable[[Sequence[Command]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _valued(commands: Sequence[Command]) -> Iterable[tuple[str, Parameter]]:
    """Yield each option that takes a value, with the path of its command."""
    return ((" ".join(c.path), p) for c in commands for p in c.parameters if p.is_option and p.takes_value)


def _options(command: Command) -> str:
    return " ".join(name for p in command.parameters if p.is_option for name in p.names)


def _hinted(command: Command) -> list[str]:
    """Return the options with their help, as ``_describe`` of zsh reads them."""
    return [f"{name}:{p.help.replace(':', chr(92) + ':')}" for p in command.parameters if p.is_option for name in p.names]


def _arguments(command: Command) -> str:
    return " ".join([*command.commands, *(word for p in command.parameters if not p.is_option for word in p.words)])


def _places(command: Command) -> str:
    return " ".join(dict.fromkeys(place for p in command.parameters if not p.is_option for place in p.places))


def _places_of(parameter: Parameter) -> str:
    return " ".join(parameter.places)


def _path(command: Command) -> str:
    return _quoted(" ".join(command.path))


def _after(path: str, option: Parameter) -> str:
    """Return the pattern of a command and the word before the cursor, if that is ``option``."""
    return "|".join(_quoted(f"{path} {name}") for name in option.names)


def _pattern(command: Command) -> str:
    """Return the pattern of the words so far and the next one, which together name the command."""
    return _quoted(f" {command.path[0]}") if len(command.path) == 1 else _path(command)


def _quoted(text: str) -> str:
    """Return ``text`` as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _listed(words: Iterable[str]) -> str:
    return " ".join(map(_quoted, words))


def _fish_quoted(text: str) -> str:
    return "'" + re.sub(r"([\\'])", r"\\\1", text) + "'"
