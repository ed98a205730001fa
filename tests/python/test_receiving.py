"""Tests of the kernel's receive work: where it is moved, how that is proven, and what undoes it."""

from __future__ import annotations

import os

import pytest
from dpubench import network, receiving
from dpubench.errors import EnvironmentFault
from veth_traffic import FRAMES, segments

pytestmark = pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())


def test_receive_work_is_moved_and_proven() -> None:
    cpu = max(os.sched_getaffinity(0))
    with network.veth_pair(1518) as pair:
        works = [receiving.move(side, cpu) for side in (pair.server, pair.client)]
        before = receiving.counts(*works)
        assert segments(pair) == [154] * FRAMES
        after = receiving.counts(*works)
        # On a machine with a busy network the counts prove nothing, and the result says so.
        said = receiving.ran_elsewhere(works[0], before, after, FRAMES)
        assert said == "" or "receive softirqs" in said
        assert after.threads_ns[works[0].threads[0]] > before.threads_ns[works[0].threads[0]]
        assert "did not run" in receiving.ran_elsewhere(works[0], after, after, FRAMES)
        noisy = receiving.Counts({c: n + 1000 for c, n in after.softirqs.items()}, after.threads_ns)
        assert "some packets were handled outside the NAPI threads" in receiving.ran_elsewhere(works[0], before, noisy, FRAMES)
        if len(os.sched_getaffinity(0)) > 1:
            os.sched_setaffinity(works[0].threads[0], os.sched_getaffinity(0))
            assert "may run on other CPUs" in receiving.ran_elsewhere(works[0], before, after, FRAMES)
    assert "is gone" in receiving.ran_elsewhere(works[0], before, after, FRAMES)


def test_an_interface_that_was_down_has_its_receive_work_elsewhere() -> None:
    cpu = max(os.sched_getaffinity(0))
    with network.veth_pair(1518) as pair:
        work = receiving.move(pair.server, cpu)
        assert receiving.elsewhere(work) == "" and not receiving.went_down(work)
        network._ip("-n", pair.server.namespace, "link", "set", pair.server.interface, "down")
        assert "is gone" in receiving.elsewhere(work) and receiving.went_down(work)
        with pytest.raises(EnvironmentFault, match=r"veth: .* cannot be moved"):
            receiving.move(pair.server, cpu)
        network._ip("-n", pair.server.namespace, "link", "set", pair.server.interface, "up")
        assert receiving.went_down(work), "its threads are others now"
        again = receiving.move(pair.server, cpu)
        assert not set(again.threads) & set(work.threads) and receiving.elsewhere(again) == "" and not receiving.went_down(again)
        assert all(os.sched_getaffinity(thread) == {cpu} for thread in again.threads)
        # A number that now belongs to another process is not the thread's.
        assert "is gone" in receiving.elsewhere(receiving.Moved(pair.server, cpu, (os.getpid(),)))


def test_work_that_was_not_moved_shows_in_the_softirqs() -> None:
    with network.veth_pair(1518) as pair:
        before = receiving.counts()
        segments(pair)
        after = receiving.counts()
    assert sum(after.softirqs.values()) - sum(before.softirqs.values()) > FRAMES // 64
