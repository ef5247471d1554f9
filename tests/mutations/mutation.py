"""A mutation of a line of the product, the tests that have to find it, and the list of all of them."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LIST: Final = Path(__file__).with_name("mutations.json")
"""The drawn mutations with the latest results."""

SURVIVED: Final = "no test"
"""Result of a mutation with which every test of its package passes."""
UNDECIDED: Final = "undecided"
"""Result of a mutation whose tests did not end in time, or fail without it."""


@dataclass
class Mutation:
    """A changed line of a file.

    Attributes:
        file: path from the root of the checkout.
        before: the line, without indentation; the file has it once.
        after: what replaces it.
        found_by: the first test that fails, `SURVIVED` or `UNDECIDED`; empty if it was not run.
    """

    file: str
    before: str
    after: str
    found_by: str = ""

    @property
    def package(self) -> str:
        """The package that the file belongs to, such as ``service_core/kernel``."""
        return "/".join(self.file.split("/")[:2]).removesuffix(".py")


def read_mutations() -> list[Mutation]:
    """Returns the mutations of the list."""
    return [Mutation(**each) for each in json.loads(LIST.read_text())]


def write_mutations(mutations: Iterable[Mutation]) -> None:
    """Replaces the list."""
    LIST.write_text(json.dumps([asdict(each) for each in mutations], indent=1, ensure_ascii=False) + "\n")


def tests_of_package(package: str) -> list[str]:
    """Returns the files and folders that hold the tests of a package, as paths from the root."""
    owner, name = package.split("/")
    patterns = {
        "service_core": (f"tests/{name}",),
        "hosts": (f"tests/hosts/{name}", f"tests/hosts/test_{name}*.py", f"tests/{name}"),
        "plugins": (f"tests/plugins/test_{name}*.py", f"tests/plugins/{name}", *_OTHER_TESTS.get(name, ())),
    }[owner]
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


_OTHER_TESTS: Final = {
    "devices_useragent": ("tests/plugins/test_device_*.py",),
    "events_memory": ("tests/conformance/test_events_memory.py",),
    "events_sql": ("tests/conformance/test_duckdb.py", "tests/conformance/test_postgresql.py"),
    "ingest_redis": ("tests/conformance/test_queue_redis.py",),
    "ingest_spool": ("tests/conformance/test_queue_spool.py",),
    "limits_memory": ("tests/conformance/test_limiter_memory.py",),
    "limits_redis": ("tests/conformance/test_limiter_redis.py",),
    "redirects_redis": ("tests/conformance/test_redirects_redis.py",),
    "revenue_shopify": ("tests/plugins/test_import_sources.py",),
    "revenue_stripe": ("tests/plugins/test_stripe_fees.py", "tests/plugins/test_import_sources.py"),
    **dict.fromkeys(
        [
            f"protocol_{name}"
            for name in ("ga4", "matomo", "mixpanel", "plausible", "posthog", "segment", "snowplow", "umami")
        ],
        ("tests/plugins/test_ingest_protocols.py",),
    ),
    **dict.fromkeys(
        [f"transform_{name}" for name in ("campaigns", "drop", "redact")],
        ("tests/plugins/test_transforms.py",),
    ),
}
"""Plugin -> where its tests stand, besides files and folders of its name."""
