"""Takes a screenshot of a report: ``screenshot.py REPORT.html OUT.png [WIDTH HEIGHT]``. At most 300 KiB, for the README."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
CHROMEDRIVER = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
LIMIT_BYTES = 300 * 1024
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip


def start(profile: Path, width: int = 1280, height: int = 800, *, performance: bool = False) -> Any:
    """Start a headless Chromium with a viewport of ``width`` x ``height`` CSS pixels; return its driver."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", **({"performance": "ALL"} if performance else {})})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    viewport(driver, width, height)
    return driver


def viewport(driver: Any, width: int, height: int) -> None:
    """Set the size of the page in CSS pixels."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def main(arguments: list[str]) -> int:
    """Run the script; return the exit status."""
    if len(arguments) not in (2, 4):
        print("usage: screenshot.py REPORT.html OUT.png [WIDTH HEIGHT]", file=sys.stderr)
        return 2
    report, out = Path(arguments[0]), Path(arguments[1])
    width, height = (int(a) for a in arguments[2:]) if len(arguments) == 4 else (1280, 800)
    if not report.is_file():
        print(f"{report}: no such report; write one with dpubench report", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = start(Path(profile), width, height)
        try:
            driver.get(report.resolve().as_uri())
            driver.save_screenshot(os.fspath(out))
        finally:
            driver.quit()
    if out.stat().st_size > LIMIT_BYTES:
        print(f"{out}: {out.stat().st_size} bytes, more than {LIMIT_BYTES}; give a smaller WIDTH HEIGHT", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
