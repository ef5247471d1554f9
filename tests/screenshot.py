"""The pictures of the README: three pages of the example shop of `touchpoint demo`, taken in Chromium.

`nox -s screenshot -- --write` takes them and records the headings they show; without `--write` only the headings are
compared.
"""

import argparse
import asyncio
import base64
import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import async_playwright

from tests.fixtures.browser_deployment import CHROMIUM

ROOT = Path(__file__).parents[1]
HEADINGS = ROOT / "tests/demo/picture_headings.json"
"""The headings on each picture: when a page has others, its picture is out of date."""

MAX_BYTES = 150_000
WIDTH, HEIGHT = 1280, 860
HEADING_TEXTS = "nodes => nodes.filter(node => node.checkVisibility()).map(node => node.textContent.trim())"


@dataclass(frozen=True)
class Picture:
    """A picture of the README.

    Attributes:
        path: of the page, below the workspace.
        opens: whether the first entry of the page is opened, as of a list of dashboards.
    """

    name: str
    path: str
    opens: bool = False

    @property
    def file(self):
        return ROOT / f"docs/{self.name}.webp"


PICTURES = (
    Picture("overview", ""),
    Picture("attribution", "/attribution"),
    Picture("dashboard", "/dashboards", opens=True),
)


async def take_pictures(sign_in_link):
    """Returns the headings of each page and its picture, by the name of the picture."""
    taken = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1, color_scheme="light"
        )
        await page.goto(sign_in_link)
        shop = page.url
        for picture in PICTURES:
            await page.goto(shop + picture.path)
            if picture.opens:
                await page.locator("main th a").first.click()
            await page.wait_for_load_state("networkidle")
            headings = await page.locator("main h1, main h2").evaluate_all(HEADING_TEXTS)
            devtools = await page.context.new_cdp_session(page)
            shot = await devtools.send("Page.captureScreenshot", {"format": "webp", "quality": 78})
            taken[picture.name] = headings, base64.b64decode(shot["data"])
        await browser.close()
    return taken


def take_pictures_of_demo():
    """Returns the headings and pictures of the shop of a new demo."""
    command = [sys.executable, "-m", "hosts.cli", "demo", "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as demo:
        try:
            link = next(
                found[1] for line in demo.stdout if (found := re.search(r"as its owner: (http\S+)", line))
            )
            return asyncio.run(take_pictures(link))
        finally:
            demo.send_signal(signal.SIGINT)
            demo.communicate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="Write the pictures and their headings.")
    write = parser.parse_args().write
    taken = take_pictures_of_demo()
    headings = {name: shown for name, (shown, _) in taken.items()}
    if write:
        for picture in PICTURES:
            picture.file.write_bytes(taken[picture.name][1])
        HEADINGS.write_text(json.dumps(headings, indent=1, ensure_ascii=False) + "\n")
    elif json.loads(HEADINGS.read_text()) != headings:
        sys.exit("The pictures of the README show other headings: run `nox -s screenshot -- --write`")


if __name__ == "__main__":
    main()
