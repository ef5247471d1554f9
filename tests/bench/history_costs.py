"""Measures what the history of events costs, against a checkout without it: append, bytes on disk, and three reads.

    python -m tests.bench.history_costs 1000000 --folder bench --against ../before

Both checkouts are measured in turn, in processes of their own; the least processor time of the rounds counts.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Final

from tests.bench import ingest_consumer
from tests.bench.figures import markdown_table
from tests.bench.request_costs import Figures, measure, measure_checkout

READS: Final = (
    "/overview, 30 days",
    "/attribution last_non_direct, 365 days",
    "/funnel of 3 steps, 350 days",
)
_APPENDED_EVENTS: Final = 10_000
_UNITS: Final = {"append of an event": "ms", "bytes of an event on disk": "bytes"}


async def measure_costs(rows: int, folder: Path) -> dict[str, float]:
    """Returns the costs of this checkout by name."""
    appended = await ingest_consumer.main(_APPENDED_EVENTS, 4)
    costs = {"append of an event": appended.cost_by_phase["append"]}
    for name in READS:
        measured = await measure(rows, folder, 1, name)
        costs[name] = 1000 * measured.figures[name][0]
    return costs | {"bytes of an event on disk": (folder / f"one_{rows}.db").stat().st_size / rows}


def least_costs(runs: list[dict[str, float]]) -> dict[str, float]:
    """Returns the least cost of several runs by name."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    """Compares this checkout with another one, and prints a table; without another one, prints the costs as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, help="a checkout without the history")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.against is None:
        costs = asyncio.run(measure_costs(given.rows, folder))
        sys.stdout.write("\n" + json.dumps(Figures(costs, {}, 0.0)._asdict()))
        return
    checkouts = {"without": given.against.resolve(), "with": Path(__file__).parents[2]}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for _ in range(given.rounds):
        for name, checkout in checkouts.items():
            measured = measure_checkout(checkout, [str(given.rows), f"--folder={folder / name}"], __file__)
            runs[name].append(measured.figures)
    without, with_history = (least_costs(each) for each in runs.values())
    rows = [
        (name, *(f"{cost[name]:.3g} {_UNITS.get(name, 'ms')}" for cost in (without, with_history)))
        for name in without
    ]
    table = markdown_table(("CPU time or size", "without history", "with history"), rows)
    sys.stdout.write(f"{table}\n")


if __name__ == "__main__":
    main()
