"""Tests of what ``scratch.sweep`` removes of half-made things and what it leaves: it works in folders where anybody may put anything."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from dpubench import scratch


def within_s(seconds: float, work: threading.Thread) -> bool:
    """Start ``work``; return whether it ends in time."""
    work.start()
    work.join(seconds)
    return not work.is_alive()


def test_a_pipe_or_a_link_of_such_a_name_hangs_nobody_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".pipe")
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / ".link").symlink_to(kept)
    (tmp_path / ".left").mkdir()
    (tmp_path / ".left/file").write_text("half")
    (tmp_path / "text.partial").write_text("half")
    assert within_s(5, threading.Thread(target=scratch.sweep, args=(tmp_path,), daemon=True)), "waits for somebody to open the pipe"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".link", ".pipe", "kept"]


def test_what_is_held_stays(tmp_path: Path) -> None:
    with scratch.folder(tmp_path) as at_work:
        (at_work / "file").write_text("half")
        scratch.sweep(tmp_path)
        assert (at_work / "file").is_file()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of somebody else")
def test_what_somebody_else_made_stays(tmp_path: Path) -> None:
    theirs = tmp_path / ".theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    scratch.sweep(tmp_path)
    assert theirs.is_dir()
