"""Tests of unusable inputs, given to the real program through ``--input``: the message names file, place and remedy; the exit status is right."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from real_program import PROGRAM, RealBench, by_hand, job

pytestmark = pytest.mark.usefixtures("real")

#: Small tables, because the default ones take seconds to build.
ROUTES4 = "".join(f"10.{i}.0.0/16,{i}\n" for i in range(200)) + "0.0.0.0/0,7\n"
ROUTES6 = "".join(f"2001:db8:{i:x}::/48,{i}\n" for i in range(200)) + "::/0,7\n"


def udp_packet(length: int = 60) -> bytes:
    """Return an Ethernet frame with an IPv4 UDP packet to 10.1.2.3."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([10, 1, 2, 3]))
    udp = struct.pack("!HHHH", 1000, 53, length - 20, 0)
    return bytes(12) + b"\x08\x00" + ip + udp + bytes(length - 28)


def pcap(*frames: bytes, link: int = 1) -> bytes:
    """Return a capture (libpcap's classic format, draft-ietf-opsawg-pcap)."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return head + b"".join(struct.pack("<IIII", i, 0, len(f), len(f)) + f for i, f in enumerate(frames))


def catalog() -> dict[str, dict[str, Any]]:
    hello = json.loads(subprocess.run([PROGRAM, "--list"], capture_output=True, timeout=60, check=True).stdout)
    return {o["name"]: o for o in hello["catalog"]["operators"]}


def write(real: RealBench, name: str, content: bytes | str) -> Path:
    path = real.folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lpm(real: RealBench, *arguments: str, routes4: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run one lpm configuration on small tables."""
    four = routes4 if routes4 is not None else write(real, "good4.csv", ROUTES4)
    more: dict[str, Any] = {"params": {"ip_version": ["4"], "lookup": ["bulk"]}}
    done = real("run", real.plan(**more), "--name", "r", "--operator", "lpm", "--engine", "portable", "--footprint", "resident",
                "--input", f"routes4={four}", *arguments)  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert real.workers() == []
    return done


# --- captures


def test_a_good_capture_is_measured(real: RealBench) -> None:
    done = lpm(real, "--param", "stream=capture", "--input", f"capture={write(real, 'good.pcap', pcap(*[udp_packet()] * 50))}")
    assert done.returncode == 0, done.stderr
    [point] = real.record("r")["points"]
    assert "good.pcap" in point["input"]["name"]


def test_a_truncated_capture_is_used_as_far_as_it_goes_and_says_so(real: RealBench) -> None:
    path = write(real, "cut.pcap", pcap(*[udp_packet()] * 50)[:-30])
    done = lpm(real, "--param", "stream=capture", "--input", f"capture={path}")
    assert done.returncode == 0, done.stderr
    [warning] = [w for w in real.record("r")["warnings"] if w["code"] == "input-skipped"]
    assert str(path) in warning["message"] and "ends inside a record" in warning["message"]


def test_frames_that_are_no_ip_are_passed_over_and_counted(real: RealBench) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(46)
    path = write(real, "mixed.pcap", pcap(udp_packet(), arp, udp_packet(), arp, arp))
    assert lpm(real, "--param", "stream=capture", "--input", f"capture={path}").returncode == 0
    [warning] = [w for w in real.record("r")["warnings"] if w["code"] == "input-skipped"]
    assert "3 frames without IP were skipped" in warning["message"]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (random.Random(1).randbytes(5000), "byte 0"),
        (pcap(udp_packet())[:20], "byte"),
        (pcap(), "holds no IP packet"),
        (pcap(*[bytes(12) + b"\x08\x06" + bytes(46)] * 5), "holds no IP packet (5 frames without IP"),
        (b"id:/regex/\n" * 10, "byte 0"),
    ],
    ids=["garbage", "cut header", "no packet", "no IP", "another file"],
)
def test_a_capture_that_cannot_be_used_is_refused_with_file_place_and_remedy(
    real: RealBench, content: bytes, words: str, more: tuple[str, ...]
) -> None:
    path = write(real, "bad.pcap", content)
    done = lpm(real, "--param", "stream=capture", "--input", f"capture={path}", *more)
    assert done.returncode == 2, done.stderr
    assert f"--input capture={path}: " in done.stderr and words in done.stderr
    assert not (real.results / "r").exists(), "nothing began"


def test_a_bad_input_is_refused_though_half_of_the_run_does_not_need_it(real: RealBench) -> None:
    """A user who gives a file wants it read."""
    path = write(real, "bad.pcap", b"\0" * 100)
    done = lpm(real, "--param", "stream=capture,zipf", "--input", f"capture={path}")
    assert done.returncode == 2 and not (real.results / "r").exists(), done.stderr


def test_an_input_that_is_damaged_after_it_was_checked_fails_its_points_alone(real: RealBench) -> None:
    path = write(real, "bad.pcap", b"\0" * 100)
    groups = [
        {"id": stream, "operator": "lpm", "params": {"ip_version": "4", "lookup": "bulk", "stream": stream}, "threads": 1, "burst": 32,
         "footprint": "resident", "points": [{"id": f"of {stream}", "engine": "portable"}]}
        for stream in ("capture", "zipf")
    ]  # fmt: skip
    given = job(canaries=False) | {"inputs": {"capture": [str(path)], "routes4": [str(write(real, "good4.csv", ROUTES4))]}, "groups": groups}
    status, events, _ = by_hand(given)
    [failure] = [event for event in events if event["event"] == "failure"]
    assert status == 1 and failure["phase"] == "inputs" and failure["group"] == "capture" and str(path) in failure["message"]
    assert {event["point"] for event in events if event["event"] == "window"} == {"of zipf"}


def test_a_capture_that_is_asked_for_and_not_given_is_left_out_with_the_remedy(real: RealBench) -> None:
    none = lpm(real, "--param", "stream=capture")
    assert none.returncode == 4 and "give --input capture=FILE.pcap" in none.stderr
    assert lpm(real, "--param", "stream=capture,zipf").returncode == 0
    record = real.record("r")
    assert [p["params"]["stream"] for p in record["points"]] == ["zipf"]
    assert any("--input capture=FILE.pcap" in reason for reason in record["left_out"])


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_input_of_the_mode_that_is_not_measured_is_refused(real: RealBench, more: tuple[str, ...]) -> None:
    done = lpm(real, "--input", f"routes6={write(real, 'good6.csv', ROUTES6)}", *more)
    assert done.returncode == 2 and not (real.folder / "results/r").exists()
    assert "--input routes6: nothing in this run reads it" in done.stderr and "the run reads routes4" in done.stderr


# --- prefix lists


def test_bad_lines_of_a_prefix_list_are_named_as_the_user_wrote_them(real: RealBench) -> None:
    text = "# a comment\nprefix,next_hop\n10.0.0.0/8,1\n\n10.1.1.1/8,2\n10.0.0.0/33,3\n10.3.0.0/16,4\nrubbish\n10.2.0.0/16,many\n"
    path = write(real, "bad4.csv", text)
    done = lpm(real, routes4=path)
    assert done.returncode == 2, done.stderr
    for line, words in ((5, "host bits"), (6, "length"), (8, "rubbish"), (9, "next hop")):
        [found] = [t for t in done.stderr.splitlines() if f"bad4.csv:{line}: " in t][:1] or [""]
        assert words in found, (line, done.stderr)
    assert str(path) in done.stderr, "the user's file, not a converted copy of it"


def test_a_prefix_list_of_pyasn_with_a_bad_line(real: RealBench) -> None:
    path = write(real, "table.dat", "; IP-ASN32-DAT file\n10.0.0.0/8\t1\n11.0.0.0/8\tone\n")
    done = lpm(real, routes4=path)
    assert done.returncode == 2
    assert "table.dat:3: " in done.stderr, done.stderr


def test_a_prefix_list_without_a_prefix(real: RealBench) -> None:
    done = lpm(real, routes4=write(real, "none.csv", "# nothing\n\n"))
    assert done.returncode == 2
    assert "none.csv" in done.stderr and "holds no prefix" in done.stderr


def test_a_prefix_list_that_is_no_text(real: RealBench) -> None:
    done = lpm(real, routes4=write(real, "binary.csv", b"\xff\xfe\0\1" * 100))
    assert done.returncode == 2
    assert "binary.csv" in done.stderr and "byte 0" in done.stderr


def test_a_gzip_file_that_is_cut(real: RealBench) -> None:
    import gzip

    done = lpm(real, routes4=write(real, "cut.csv.gz", gzip.compress(ROUTES4.encode())[:-20]))
    assert done.returncode == 2
    assert "cut.csv.gz" in done.stderr and "cannot be read" in done.stderr


# --- rules


def consumer(kind: str) -> str:
    """Return an operator that reads inputs of a kind; skip the test, with a reason, in a build that has none."""
    names = [n for n, o in catalog().items() if kind in [i["name"] for i in o["inputs"]]]
    if not names:
        pytest.skip(f"no operator of this build reads '{kind}'")
    return "regex" if "regex" in names else names[0]


def run_with(real: RealBench, operator: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    reference = catalog()[operator]["reference_engine"]
    done = real("run", real.plan(), "--name", "r", "--operator", operator, "--engine", reference, "--footprint", "resident", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_rules_that_do_not_compile_are_skipped_and_counted(real: RealBench) -> None:
    operator = consumer("rules")
    path = write(real, "some.rules", "1:/abc[0-9]+/\n2:/(unclosed/\n3:/foo/i\n4:/[z-a]/\n")
    done = run_with(real, operator, "--input", f"rules={path}")
    assert done.returncode == 0, done.stderr
    told = " ".join(w["message"] for w in real.record("r")["warnings"] if w["code"] == "input-skipped")
    assert "2" in told and "4" in told, real.record("r")["warnings"]


def test_rules_none_of_which_compiles_are_an_error(real: RealBench) -> None:
    operator = consumer("rules")
    path = write(real, "no.rules", "1:/(unclosed/\n2:/[z-a]/\n")
    done = run_with(real, operator, "--input", f"rules={path}")
    assert done.returncode == 4, done.stderr
    assert "no.rules" in done.stderr


def test_a_rule_list_without_rules_is_an_error(real: RealBench) -> None:
    operator = consumer("rules")
    done = run_with(real, operator, "--input", f"rules={write(real, 'none.rules', '# nothing' + chr(10))}")
    assert done.returncode == 2
    assert "none.rules" in done.stderr


# --- corpora


def test_a_corpus_of_files_and_directories(real: RealBench) -> None:
    operator = consumer("corpus")
    (real.folder / "texts").mkdir()
    write(real, "texts/a.txt", "to be or not to be, that is the question. " * 500)
    done = run_with(real, operator, "--input", f"corpus={real.folder / 'texts'}", "--input", f"corpus={write(real, 'b', b'abcd' * 9000)}")
    assert done.returncode == 0, done.stderr
    assert all(p["input"]["sha256"] for p in real.record("r")["points"])


def test_an_empty_corpus(real: RealBench) -> None:
    operator = consumer("corpus")
    (real.folder / "nothing").mkdir()
    done = run_with(real, operator, "--input", f"corpus={real.folder / 'nothing'}")
    assert done.returncode in (2, 4), done.stderr
    assert str(real.folder / "nothing") in done.stderr


# --- missing and unreadable files


@pytest.mark.parametrize("kind", ["routes4", "rules", "corpus", "capture"])
def test_a_missing_file_is_usage(real: RealBench, kind: str) -> None:
    if kind not in ("routes4", "capture"):
        operator = consumer(kind)
        done = run_with(real, operator, "--input", f"{kind}=/nonexistent/file")
    else:
        done = lpm(real, "--input", f"{kind}=/nonexistent/file") if kind == "capture" else lpm(real, routes4=Path("/nonexistent/file"))
    assert done.returncode == 2
    assert f"--input {kind}=/nonexistent/file: there is no such file" in done.stderr
    assert not (real.results / "r").exists(), "nothing began"


def test_an_empty_file_a_directory_and_an_unknown_kind_are_usage(real: RealBench) -> None:
    empty = write(real, "empty", b"")
    for option, words in (
        (f"capture={empty}", "is empty"),
        (f"capture={real.folder}", "is a directory"),
        (f"rule={empty}", "did you mean 'rules'"),
        ("capture", "write KIND=PATH"),
    ):
        done = lpm(real, "--param", "stream=capture", "--input", option)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr and option in done.stderr


def test_a_file_that_may_not_be_read(real: RealBench) -> None:
    path = write(real, "secret.pcap", pcap(udp_packet()))
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read everything: run as another user
        setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*setpriv, "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("root reads every file, and setpriv cannot become somebody else")
        inputs = {"capture": [str(path)], "routes4": [str(write(real, "good4.csv", ROUTES4))]}
        given = {"schema": "dpubench.job/1", "seed": 1, "round": 0, "control": "auto", "inputs": inputs, "cpus": [0],
                 "window": {"min_ms": 1, "max_ms": 5, "min_bursts": 2, "threaded_min_ms": 5}, "cycles": 1, "canaries": False,
                 "time_limit_s": 60, "groups": [{"id": "g", "operator": "lpm", "params": {"stream": "capture", "ip_version": "4"},
                 "threads": 1, "burst": 32, "footprint": "resident", "points": [{"id": "p", "engine": "portable"}]}]}  # fmt: skip
        for folder in (real.folder, *real.folder.parents):
            if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o5 != 0o5 and "pytest" in str(folder):
                folder.chmod(0o755)
        done = subprocess.run([*setpriv, str(PROGRAM)], input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout
        assert done.returncode == 4, said
    else:
        called = lpm(real, "--param", "stream=capture", "--input", f"capture={path}")
        said = called.stderr
        assert called.returncode == 2
    assert str(path) in said and "permission" in said.lower()
