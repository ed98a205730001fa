"""Tests of the display of a run in progress on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from conftest import Bench
from dpubench.run.progress import shares

LEFT = "at most 2 h 59 min left"
STAGE = "target bf2: round 12 of at least 6, 1234 configurations"
POINT = "aes/direction=encrypt,key_bits=128,mode=gcm,size=1024/t1/b32/stream"


@pytest.mark.parametrize("width", [60, 80, 81, 100, 160, 240])
@pytest.mark.parametrize("text", ["starting", STAGE, STAGE * 3])
@pytest.mark.parametrize("point", ["", "1.2 Mpps, loss 0 %", POINT])
def test_the_line_fits_and_the_time_left_is_whole(width: int, text: str, point: str) -> None:
    fitted = shares(width, text, LEFT, point)
    assert len(fitted.text) + fitted.bar + len(LEFT) + len(fitted.point) + 3 <= width
    assert fitted.bar >= 8 and text.startswith(fitted.text.rstrip("…")) and point.startswith(fitted.point.rstrip("…"))


def test_what_has_room_is_not_cut() -> None:
    assert shares(80, "round 2 of at least 6, 8 configurations", "at most 2 min 53 s left", POINT).text == "round 2 of at least 6, 8 configurations"
    assert shares(240, STAGE, LEFT, POINT) == (STAGE, 30, POINT)


def test_a_real_terminal_of_80_columns_shows_the_time_left_on_one_line(bench: Bench) -> None:
    master, slave = pty.openpty()
    environment = bench.environment | {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    words = [sys.executable, "-m", "dpubench", "run", "--name", "r", "--rounds", "2"]
    with subprocess.Popen(words, cwd=bench.folder, env=environment, stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        said, until = b"", time.monotonic() + 60
        while time.monotonic() < until and select.select([master], [], [], 60)[0]:
            try:
                block = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            said += block
        assert process.wait(timeout=60) == 0, said
    os.close(master)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part) for part in re.split(r"[\r\n]+", said.decode())]
    shown = [line for line in lines if "configuration" in line]
    assert shown and all(re.search(r"at most \d+ (s|min \d\d s) left", line) for line in shown)
    assert max(len(line.rstrip()) for line in lines) <= 80
