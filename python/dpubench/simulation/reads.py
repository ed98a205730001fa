"""A generated trace of random reads, each at an address that the previous read gave. It shows the latencies of a memory hierarchy.

It stands for the measurements of ``lat_mem_rd`` and tinymembench. Addresses are drawn uniformly, as in tinymembench. A chain of pointers through a
buffer would never hit in a smaller cache that replaces its lines in order of use.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import zstandard

from dpubench import traces

#: Reads in a message, and in one iteration of the loop.
READS_OF_MESSAGE: Final = 32
LINE_BYTES: Final = 64
#: Number of counted reads, and most reads before them to fill the caches. Both are whole messages.
_COUNTED: Final = 65_536
_MOST_WARMING: Final = 393_216

#: Constants of native/cores/trace/format.h.
_MAGIC: Final = b"dpubtrac"
_VERSION: Final = 2
_FRAME_BYTES: Final = 1 << 20
_ACCESS: Final = 1 << 63
_MARK: Final = 3 << 62
_OPEN, _CLOSE, _MESSAGE, _END = 0, 1, 2, 3
_INDEX_SHIFT, _SIZE_SHIFT, _MARK_SHIFT = 48, 58, 8
_EIGHT_BYTES: Final = 3
_NO_BLOCK: Final = 0xFFFFFFFF

_CODE: Final = 0x400000
_DATA: Final = 0x10000000
_LDR: Final = 0xF9400000  # ldr x0, [x0]
_SUBS: Final = 0xF1000421  # subs x1, x1, #1
_NOP: Final = 0xD503201F
#: Instruction b.ne, a branch back to the first read.
_BNE: Final = 0x54000001 | ((-(READS_OF_MESSAGE + 1) & 0x7FFFF) << 5)


@dataclass(frozen=True, slots=True)
class ReadsTrace:
    """A written trace, and the messages of it to count."""

    folder: Path
    digest: str  #: SHA-256 of its parameters, in hexadecimal
    warm_up_messages: int
    messages: int  #: messages to count


def write(buffer_bytes: int, folder: Path, seed: int = 1) -> ReadsTrace:
    """Write the trace of reads in a buffer of ``buffer_bytes`` into the new folder ``folder``. Equal arguments give the same trace.

    Raises:
        FileExistsError: ``folder`` exists already.
    """
    lines = max(READS_OF_MESSAGE, buffer_bytes // LINE_BYTES // READS_OF_MESSAGE * READS_OF_MESSAGE)
    messages = _COUNTED // READS_OF_MESSAGE
    # The numbers of this counter-based generator do not change between releases of numpy (NEP 19).
    random = np.random.Philox(seed)
    # Read each line once, so that the caches hold all that fits. Then read as many at random, so that the order of use is random too.
    once = np.argsort(random.random_raw(lines), kind="stable").astype(np.uint64)[:_MOST_WARMING]
    again = min(lines, _MOST_WARMING - len(once))
    drawn = np.concatenate([once, random.random_raw(again + _COUNTED) % np.uint64(lines)])
    warming = (len(once) + again) // READS_OF_MESSAGE
    addresses = np.uint64(_DATA) + drawn * np.uint64(LINE_BYTES)
    digest = sha256(f"reads {buffer_bytes} {seed} {_VERSION}".encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / traces.BLOCKS).write_bytes(_packed(_blocks(f"reads at random in {buffer_bytes} bytes", digest)))
    (folder / traces.STREAM).write_bytes(_packed(_stream(addresses.reshape(-1, READS_OF_MESSAGE))))
    return ReadsTrace(folder, digest, warming, messages)


def _packed(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(level=1, write_checksum=True)
    return b"".join(packer.compress(data[at : at + _FRAME_BYTES]) for at in range(0, len(data), _FRAME_BYTES))


def _blocks(kernel: str, digest: str) -> bytes:
    def words(*values: int) -> bytes:
        return np.array(values, dtype="<u4").tobytes()

    def block(number: int, address: int, instructions: list[int]) -> bytes:
        return words(number, len(instructions)) + np.array([address], dtype="<u8").tobytes() + words(*instructions)

    texts = b"".join(words(len(text.encode())) + text.encode() for text in ("aarch64", kernel, "generated", digest))
    loop = [_LDR] * READS_OF_MESSAGE + [_SUBS, _BNE]
    return _MAGIC + words(_VERSION) + texts + block(0, _CODE, loop) + block(1, _CODE + 4 * len(loop), [_NOP]) + words(_NO_BLOCK, 2)


def _stream(addresses: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> bytes:
    """Return the stream: per message the mark, the block and its accesses. ``addresses`` has shape (messages, reads)."""
    messages, reads = addresses.shape
    words = np.zeros((messages, 2 + reads), dtype="<u8")
    words[:, 0] = np.uint64(_MARK | _MESSAGE)
    words[:, 2:] = addresses | np.uint64(_ACCESS | _EIGHT_BYTES << _SIZE_SHIFT)
    words[:, 2:] |= np.arange(reads, dtype=np.uint64) << np.uint64(_INDEX_SHIFT)
    executed = messages * (reads + 2) + 1
    ends = np.array([1, _MARK | _CLOSE, _MARK | _END | executed << _MARK_SHIFT], dtype="<u8")
    head = _MAGIC + np.array([_VERSION, _MARK | _OPEN], dtype="<u8").tobytes()
    return head + words.tobytes() + ends.tobytes()
