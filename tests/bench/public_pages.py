"""Measures a public page with fifteen cards: the first view of a minute, a further one, and invalid tokens.

    python -m tests.bench.public_pages

Requests pass the whole application without a socket. The response time must not tell an unknown token from a
revoked or expired one.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from service_core.kernel.ids import new_token
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, EVERY_KIND, SharedObjects

TARGET_DIFFERENCE_MS: Final = 1.0
"""A median difference below this is less than the noise of any network."""

PERSON: Final = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36"}


async def time_view(look: Callable[[], Awaitable[object]]) -> float:
    """Returns the milliseconds of one request."""
    started = time.perf_counter()
    await look()
    return (time.perf_counter() - started) * 1000


async def measure_views(rounds: int, folder: Path) -> dict[str, float]:
    """Returns the median milliseconds by kind of request, sent in alternation."""
    clock = ManualClock()
    clock.now = AFTER_WEEK
    service, messages = compose_deployment(folder, clock=clock, settings={"storage": {"events": "memory://"}})
    async with service:
        gallery = await SharedObjects(service).open(clock.now)
        cards = [await gallery.report(f"Card {index}", **one) for index, one in enumerate(EVERY_KIND)]
        board = await gallery.share("dashboard", await gallery.dashboard(cards))
        revoked, expired = [await gallery.share("report", cards[0], expires_in_days=1) for _ in range(2)]
        await gallery.revoke(revoked)
        clock.advance(days=1)
        person = Deployment(service, create_application(service), clock, messages, None, None).person()
        await person.get(board["path"], **PERSON)
        paths = {
            "first view of a minute": lambda: board["path"],
            "further view": lambda: board["path"],
            "unknown token": lambda: f"/app/share/{new_token()}",
            "revoked": lambda: revoked["path"],
            "expired": lambda: expired["path"],
        }
        found: dict[str, list[float]] = {name: [] for name in paths}
        for _ in range(rounds):
            clock.advance(minutes=1)
            for name, path in paths.items():
                found[name].append(await time_view(lambda path=path: person.get(path(), **PERSON)))
        return {name: median(values) for name, values in found.items()}


def main() -> None:
    """Print the table; fail when invalid tokens can be told apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure_views(arguments.rounds, Path(folder)))
    table = Table("request", "median")
    for name, milliseconds in found.items():
        table.add_row(name, f"{milliseconds:.2f} ms")
    Console().print(table)
    closed = [found[name] for name in ("unknown token", "revoked", "expired")]
    if max(closed) - min(closed) > TARGET_DIFFERENCE_MS:
        raise SystemExit("closed pages can be told apart by their time")


if __name__ == "__main__":
    main()
