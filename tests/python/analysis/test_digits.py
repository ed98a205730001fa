"""Tests of measured shares as text."""

from __future__ import annotations

import math

import pytest
from dpubench.analysis.digits import percent
from dpubench.run.progress import Trial


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (1.0, 2, "100 %"), (1.0, 3, "100 %"), (0.9996, 2, "100 %"), (12.5, 2, "1250 %"), (0.0231, 2, "2.3 %"), (0.0231, 3, "2.31 %"),
        (1e-7, 2, "0.00001 %"), (0.05, 2, "5 %"), (0.0, 2, "0 %"), (math.nan, 2, "-"), (math.inf, 3, "-"),
    ],
)  # fmt: skip
def test_a_percentage_is_never_in_exponent_form(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text


def test_a_trial_that_loses_everything_says_so_live() -> None:
    load = Trial()
    load.see({"event": "trial", "due": 200_000, "received": 0, "duration_s": 1.0})
    assert load.text.endswith("loss 100 %")
