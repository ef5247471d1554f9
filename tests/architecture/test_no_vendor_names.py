"""The core names no vendor: what it knows of one is a field of a value that a plugin registers."""

import re
from pathlib import Path

CORE = Path(__file__).parents[2] / "service_core"
VENDORS = re.compile(
    r"stripe|shopify|revenuecat|superwall|facebook|google|tiktok|openai|(?<![\w.])[\"'`]meta[\"'`]",
    re.IGNORECASE,
)
TRAFFIC_SOURCES = re.compile("google|facebook", re.IGNORECASE)

KNOWN_SITES = {CORE / "ingestion" / "channel_rules" / name for name in ("sources.py", "source_hosts.py")}
"""The modules that name companies: sites that visits come from are data, like names of countries."""

SAMPLE_DATA = CORE / "testing"
"""Sample visits have sources, which are values of that data."""


def find_vendor_names():
    for file in sorted(CORE.rglob("*.py")):
        if file not in KNOWN_SITES:
            for number, line in enumerate(file.read_text().splitlines(), start=1):
                text = TRAFFIC_SOURCES.sub("", line) if file.is_relative_to(SAMPLE_DATA) else line
                if VENDORS.search(text):
                    yield f"{file.relative_to(CORE.parent)}:{number}: {line.strip()}"


def test_no_module_of_the_core_names_a_vendor():
    assert list(find_vendor_names()) == []
