"""The picture of the README: the overview page of `touchpoint demo`, taken in Chromium.

`nox -s screenshot -- --write` takes it and writes it with the headings it shows; without `--write` only the
headings are compared.
"""

import argparse
import asyncio
import base64
import re
import signal
import subprocess
import sys
from pathlib import Path

from playwright.async_api import async_playwright

from tests.fixtures.browser_deployment import CHROMIUM

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/overview.webp"
HEADINGS = ROOT / "tests/web/overview_headings.txt"
"""The headings on the picture: when the page has others, the picture is out of date."""

WIDTH, HEIGHT = 1280, 860
HEADING_TEXTS = "nodes => nodes.filter(node => node.checkVisibility()).map(node => node.textContent.trim())"


async def open_overview(url):
    """Returns the headings of the overview page at ``url``, and a picture of it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1, color_scheme="light"
        )
        await page.goto(url)
        await page.wait_for_load_state("networkidle")
        headings = await page.locator("h1, h2").evaluate_all(HEADING_TEXTS)
        devtools = await page.context.new_cdp_session(page)
        shot = await devtools.send("Page.captureScreenshot", {"format": "webp", "quality": 82})
        await browser.close()
    return headings, base64.b64decode(shot["data"])


def take_screenshot():
    """Returns the headings and the picture of the overview page of a new demo."""
    command = [sys.executable, "-m", "hosts.cli", "demo", "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as demo:
        try:
            url = next(found[0] for line in demo.stdout if (found := re.search(r"http\S+/app/#\S+", line)))
            return asyncio.run(open_overview(url))
        finally:
            demo.send_signal(signal.SIGINT)
            demo.communicate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="Write the picture and its headings.")
    write = parser.parse_args().write
    headings, picture = take_screenshot()
    text = "".join(f"{heading}\n" for heading in headings)
    if write:
        PICTURE.write_bytes(picture)
        HEADINGS.write_text(text)
    elif HEADINGS.read_text() != text:
        sys.exit(f"{PICTURE.name} shows other headings: run `nox -s screenshot -- --write`")


if __name__ == "__main__":
    main()
