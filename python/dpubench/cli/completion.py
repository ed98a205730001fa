"""Print a script that completes commands, options and names in bash, zsh or fish.

In bash: `source <(dpubench completion bash)`; in fish: `dpubench completion fish | source`; for zsh, save it as `_dpubench` in a folder of $fpath.
"""

from __future__ import annotations

import typer


def command(shell: str = typer.Argument("bash", help="bash, zsh or fish.")) -> int:
    from dpubench.cli import _completion, _surface
    from dpubench.errors import UserError, nearest

    if shell not in _completion.SHELLS:
        raise UserError(f"completion: there is no script for '{shell}'{nearest(shell, _completion.SHELLS)}")
    print(_completion.script(shell, _surface.commands(_surface.operators())), end="")
    return 0
