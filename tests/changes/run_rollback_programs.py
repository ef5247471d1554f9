"""Runs generated programs of writes by several actors and prints figures: `python -m tests.changes.run_rollback_programs`.

Each program is rolled back for one actor and checked as `tests.changes.test_rollback_programs` describes. The number of
programs (default 10,000) and the first seed are arguments.
"""

import asyncio
import sys
import time
from collections import Counter

from service_core.testing.memory.access import MemoryAccess
from service_core.testing.memory.transactions import MemoryTransactions
from tests.changes.test_rollback_programs import check_program
from tests.fixtures.notes import create_note_client


async def make_note_client():
    """Returns a client over stores of its own, in memory."""
    return await create_note_client(MemoryTransactions(), MemoryAccess())


async def run_programs(count: int, first_seed: int) -> Counter:
    """Returns the figures of programs; a program that fails a check ends the run and names its seed."""
    figures: Counter = Counter()
    for seed in range(first_seed, first_seed + count):
        figures += await check_program(seed, make_note_client)
    return figures


def main() -> None:
    """Runs the programs and prints the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.monotonic()
    figures = asyncio.run(run_programs(count, first_seed))
    seconds = time.monotonic() - began
    lines = [f"{count} programs from seed {first_seed} in {seconds:.0f} s, no check failed"]
    lines += [f"{figure:>9,} {name}" for name, figure in sorted(figures.items())]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
