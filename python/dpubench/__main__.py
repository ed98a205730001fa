"""``dpubench``: every command, and the one place that maps results and errors to an exit status."""

from __future__ import annotations

import signal
import sys
import traceback

from dpubench import limits, signals, terminal


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit; see :class:`dpubench.errors.Exit`."""
    # Without handlers, these signals would end Python at once, without the cleanup that Ctrl-C gets.
    for number in signals.ending():
        signal.signal(number, signals.handler(_interrupt))
    terminal.guard()
    sys.exit(status(sys.argv[1:] if arguments is None else arguments))


def _interrupt(_number: int) -> None:
    raise KeyboardInterrupt


def status(arguments: list[str]) -> int:
    """Run a command and return its exit status."""
    try:
        import typer

        from dpubench.cli import application
        from dpubench.errors import Exit, UserError
    except KeyboardInterrupt:
        return 130
    try:
        if not {"--help", "--version"} & set(arguments):
            limits.check()
        result = application().main(arguments, prog_name="dpubench", standalone_mode=False)
        sys.stdout.flush()
        if result == Exit.INTERRUPTED:  # Typer returns this for a KeyboardInterrupt since 0.20; no command returns it.
            raise KeyboardInterrupt
        return int(result) if isinstance(result, int) else Exit.DONE
    except typer.Exit as error:
        return error.exit_code
    except UserError as error:
        terminal.note(str(error))
        if isinstance(error, terminal.Unwritable):
            terminal.abandon()
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        terminal.note("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        terminal.abandon()  # The reader of a pipe went away (`dpubench list | head`), which is no fault.
        return Exit.DONE
    except Exception as error:
        # Usage errors of the command line library have a method `show`. Their class has no fixed place to import: Typer brings its own Click since
        # 0.20 and uses the package `click` before.
        if callable(show := getattr(error, "show", None)):
            show()
            return Exit.USAGE
        if limit := limits.met(error):
            kept = "; what was measured is kept: continue with `dpubench resume`" if {"run", "resume"} & set(arguments[:1]) else ""
            terminal.note(f"{limit}{kept}")
            return Exit.FAILED
        terminal.tell(traceback.format_exc().rstrip(), to_stderr=True)
        terminal.note("this is a bug in dpubench; please report it with the lines above")
        return Exit.FAILED


if __name__ == "__main__":
    main()
