"""Lint the report's JavaScript with Biome: `biome.py FILE...`. Its program is fetched once, in one version, and checked by its SHA-512.

Biome is one program without dependencies, so that no Node.js is needed. It is published in the npm registry (MIT or Apache-2.0).
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import Final

VERSION: Final = "2.6.8"
#: Machine -> (name in the registry, SHA-512 of the archive as the registry gives it).
ARCHIVES: Final = {
    "x86_64": ("cli-linux-x64", "XIk3pLQT56I6Tti+u0DF8FtSNXjCMTPbxVTzfJ9cS2t1ImVKvrqV5b52GuEaJg6/wuiXvz0sjfb5saB4TPRjzA=="),
    "aarch64": ("cli-linux-arm64", "0Bjim8lKwnrvXUHoI4k3Tb51BjoiLEwDnovCI8nSzkk6wj3dShiuAjrx6+X0Hjf4ejR1sRZgTQiSDHlpy9vB7w=="),
}
URL: Final = "https://registry.npmjs.org/@biomejs/{name}/-/{name}-{version}.tgz"
PROGRAM: Final = Path(".venv") / f"biome-{VERSION}"
LIMIT_S: Final = 120


def main() -> int:
    """Lint the files; return Biome's exit status."""
    if not PROGRAM.is_file():
        fetch()
    os.execv(PROGRAM, [str(PROGRAM), "lint", "--error-on-warnings", *sys.argv[1:]])


def fetch() -> None:
    """Put Biome into the folder of this checkout's Python packages. Exit with the reason if that fails."""
    machine = platform.machine()
    if machine not in ARCHIVES:
        sys.exit(f"biome: there is no program for {machine}: lint on {' or '.join(ARCHIVES)}")
    name, digest = ARCHIVES[machine]
    url = URL.format(name=name, version=VERSION)
    try:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            data = answer.read()
    except OSError as error:
        sys.exit(f"biome: {url}: {error}: check the network")
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != digest:
        sys.exit(f"biome: {url}: its SHA-512 is not the one in {__file__}: do not trust it")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = archive.extractfile("package/biome")
        assert found is not None  # the digest says what is inside
        made = PROGRAM.with_name(f".{PROGRAM.name}.{os.getpid()}")
        made.write_bytes(found.read())
    made.chmod(0o755)
    made.replace(PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
