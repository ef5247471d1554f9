"""The table of published libraries in the docs."""

from pathlib import Path

from tests.vendor_libraries.libraries import BROWSER, NODE, PYTHON, REACT_NATIVE
from tests.vendor_libraries.recordings import load_recording

PAGE = Path(__file__).parents[2] / "docs/consumers/other-trackers.md"
BEGIN, END = "<!-- vendor libraries -->\n", "<!-- end of vendor libraries -->"
PLACES = {NODE: "Node", BROWSER: "Chromium", PYTHON: "Python", REACT_NATIVE: "Node, native side simulated"}
PRODUCTS = {"ga4": "Google Analytics 4", "posthog": "PostHog", "touchpoint": "Touchpoint `/track`"}


def render_table(results):
    """Returns the table as Markdown.

    Args:
        results: libraries with their comparisons.
    """
    lines = [
        "| Library | Version | Format | Ran in | Requests | Events sent | Events right |",
        "|---|---|---|---|---|---|---|",
    ]
    for library, comparison in results:
        recording = load_recording(library.name)
        cells = (
            f"`{library.package}`", recording.version, PRODUCTS.get(library.product, library.product.title()),
            PLACES[library.kind], len(recording.exchanges), len(library.events), comparison.right,
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def read_table():
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def write_table(results):
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + begin + render_table(results) + END + rest.partition(END)[2])
