"""A writer of cpio archives in the format "newc", which Linux unpacks as its first file system (Documentation/driver-api/early-userspace).

Every entry belongs to root and has no time, so that root is not needed to write an archive, and equal contents give equal archives.
"""

from __future__ import annotations

import stat
from typing import BinaryIO, Final

_TRAILER: Final = "TRAILER!!!"
#: Names, contents and following archives begin at multiples of it.
_ALIGNMENT: Final = 4


class Writer:
    """One archive. Folders above an entry are added with it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._inode = 0
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add a folder, unless there is one."""
        if name and name not in self._names:
            self._entry(name, stat.S_IFDIR | mode)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, name: str, to: str) -> None:
        """Add a symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, to.encode("utf-8", "surrogateescape"))

    def character_device(self, name: str, major: int, minor: int) -> None:
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def close(self) -> None:
        """End the archive. Another may follow in the same stream."""
        self._write(_TRAILER, 0, b"", (0, 0))

    def _entry(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self.folder(name.rpartition("/")[0])
        self._names.add(name)
        self._inode += 1
        self._write(name, mode, data, device)

    def _write(self, name: str, mode: int, data: bytes, device: tuple[int, int]) -> None:
        path = name.encode("utf-8", "surrogateescape") + b"\0"
        # inode, mode, uid, gid, links, mtime, bytes of data, device (2), device that it is (2), bytes of the name, checksum (unused)
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._stream.write(header + bytes(-len(header) % _ALIGNMENT) + data + bytes(-len(data) % _ALIGNMENT))
