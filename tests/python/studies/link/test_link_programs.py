"""Tests of what study link makes of the output of outside programs. The outputs were printed by these programs."""

from __future__ import annotations

from typing import Any

import pytest
from dpubench.studies.link.measure import cpus, explained, perftest_figures, qperf_figures, sockperf_figures, throughput_of
from dpubench.studies.measured.execute import PointFailed
from dpubench.workers.tool import CpuTimes

SOCKPERF = """sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=40803; ReceivedMessages=40803
sockperf: \x1b[2;35m====> avg-rtt=13.469 (std-dev=4.965)\x1b[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 13.469 usec
sockperf: \x1b[2;35mTotal 40803 observations\x1b[0m; each percentile contains 408.03 observations
sockperf: ---> <MAX> observation =  325.315
sockperf: ---> percentile 99.999 =  325.315
sockperf: ---> percentile 99.990 =  148.521
sockperf: ---> percentile 99.900 =   95.041
sockperf: ---> percentile 99.000 =   30.815
sockperf: ---> percentile 90.000 =   13.750
sockperf: ---> percentile 50.000 =   13.009
"""
QPERF = """tcp_lat:
    latency        =        6580 ns
    msg_size       =          64 bytes
"""
# perftest 4.5, from its documentation: no device was at hand.
BANDWIDTH = """---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             96.12              95.87              0.182865
---------------------------------------------------------------------------------------
"""
LATENCY = """ #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec] 99.9% percentile[usec]
 2       5000          0.80           5.10         0.84              0.85             0.05            0.95                    2.37
"""


def iperf3(received: int = 1000, sent: int = 1000, retransmits: int = 0, host: float = 20.0) -> dict[str, Any]:
    return {
        "end": {
            "sum_sent": {"bytes": sent, "bits_per_second": 8.0 * sent, "retransmits": retransmits},
            "sum_received": {"bytes": received, "bits_per_second": 8.0 * received},
            "cpu_utilization_percent": {"host_total": host, "remote_total": 30.0},
        }
    }


def test_sockperf_tells_round_trips() -> None:
    assert sockperf_figures(SOCKPERF) == {
        "rtt_p50_us": 13.009, "rtt_p90_us": 13.75, "rtt_p99_us": 30.815, "rtt_p999_us": 95.041, "rtt_max_us": 325.315, "rtt_mean_us": 13.469,
    }  # fmt: skip
    with pytest.raises(PointFailed, match="no percentiles: sockperf: ERROR"):
        sockperf_figures("sockperf: ERROR\n")
    with pytest.raises(PointFailed, match="which loses and reorders nothing"):
        sockperf_figures(SOCKPERF.replace("dropped messages = 0", "dropped messages = 3"))


def test_qperf_tells_half_a_round_trip() -> None:
    assert qperf_figures(QPERF) == {"rtt_mean_us": pytest.approx(13.16)}
    assert qperf_figures("latency = 1.5 ms") == {"rtt_mean_us": 3000.0}
    for text in ("", "latency = 0 ns", "latency = many us"):
        with pytest.raises(PointFailed, match="printed no latency"):
            qperf_figures(text)


def test_perftest_tells_bandwidth_or_half_a_round_trip() -> None:
    assert perftest_figures(BANDWIDTH, "bandwidth") == {"goodput_gbps": 95.87}
    assert perftest_figures(LATENCY, "latency") == {
        "rtt_p50_us": 1.68, "rtt_p99_us": 1.9, "rtt_p999_us": 4.74, "rtt_max_us": 10.2, "rtt_mean_us": 1.7,
    }  # fmt: skip
    with pytest.raises(PointFailed, match="no figures: No IB devices found"):
        perftest_figures("No IB devices found\n", "bandwidth")


def test_iperf3_tells_goodput_and_whether_a_cpu_held_it_up() -> None:
    found = throughput_of(iperf3(received=900), {"both_cpus": 1.5}, 1)
    assert found.figures == {"goodput_gbps": 7.2e-6, "both_cpus": 1.5} and found.warnings == {}
    held = throughput_of(iperf3(retransmits=7, host=95.0), {}, 2)
    assert held.warnings["end-saturated"] == "the sending iperf3 used 95 % of a CPU, with 2 streams"
    assert held.warnings["retransmitted"] == "7 segments were sent again in a measurement of 1000 B"
    assert "end-saturated" not in throughput_of(iperf3(host=94.9), {}, 1).warnings


@pytest.mark.parametrize("received", [0, 1001])
def test_bytes_that_do_not_add_up_are_no_rate(received: int) -> None:
    with pytest.raises(PointFailed, match="no rate follows"):
        throughput_of(iperf3(received=received), {}, 1)


def test_a_document_of_another_form_is_no_rate() -> None:
    with pytest.raises(PointFailed, match="lacks what every version writes"):
        throughput_of({"end": {}}, {}, 1)


def test_busy_cpus_are_told_for_each_machine() -> None:
    nothing = dict.fromkeys(("nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns", "at_ns"), 0)
    times = [CpuTimes(user_ns=n * 10**9, **nothing) for n in range(5)]
    assert cpus((times[0], times[1]), (times[0], times[4]), 2.0, one_machine=False) == {"sender_cpus": 0.5, "receiver_cpus": 2.0}
    assert cpus((times[0], times[1]), (times[0], times[4]), 2.0, one_machine=True) == {"both_cpus": 2.0}


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("iperf3: error - unable to connect to server: Connection refused", "a firewall refuses it"),
        ("No route to host", "check that both interfaces are up"),
        ("qperf: it took longer than it may", "an MTU on the way is too small"),
        ("bind: Cannot assign requested address", "the address is not this end's"),
    ],
)
def test_messages_of_programs_come_with_advice(said: str, advice: str) -> None:
    assert explained(said).startswith(said) and advice in explained(said)


def test_other_messages_stay_as_they_are() -> None:
    assert explained("something else") == "something else"
