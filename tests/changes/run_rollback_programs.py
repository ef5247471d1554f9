"""Runs generated programs of writes by several actors and prints figures: `python -m tests.changes.run_rollback_programs`.

Each program is rolled back for one actor and checked as `tests.changes.test_rollback_programs` describes. The number of
programs (default 10,000) and the first seed are arguments. A program that fails a check does not end the run: its seed is
printed, and the run exits with 1. The last complete run is noted in `docs/figures.md`.
"""

import asyncio
import sys
import time
from collections import Counter

from service_core.testing.memory.access import MemoryAccess
from service_core.testing.memory.transactions import MemoryTransactions
from tests.changes.test_rollback_programs import check_program
from tests.fixtures.notes import create_note_client

PROGRESS_EVERY = 100
BAR_WIDTH = 40


async def make_note_client():
    """Returns a client over stores of its own, in memory."""
    return await create_note_client(MemoryTransactions(), MemoryAccess())


async def run_programs(seeds: range) -> tuple[Counter, list[int]]:
    """Returns the figures of the programs that pass every check, and the seeds of the others."""
    figures: Counter = Counter()
    failed_seeds = []
    for number, seed in enumerate(seeds, 1):
        try:
            figures += await check_program(seed, make_note_client)
        except Exception as error:  # noqa: BLE001  any fault of the product is a failed program
            failed_seeds.append(seed)
            sys.stderr.write(f"\nprogram {seed} failed: {error!r}\n")
        if number % PROGRESS_EVERY == 0 or number == len(seeds):
            print_progress(number, len(seeds))
    return figures, failed_seeds


def print_progress(number: int, count: int) -> None:
    """Draws the progress bar anew."""
    filled = BAR_WIDTH * number // count
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {number:,} of {count:,}")
    sys.stderr.write("\n" if number == count else "")
    sys.stderr.flush()


def main() -> None:
    """Runs the programs and prints the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.monotonic()
    figures, failed_seeds = asyncio.run(run_programs(range(first_seed, first_seed + count)))
    seconds = time.monotonic() - began
    lines = [f"{count} programs from seed {first_seed} in {seconds:.0f} s, {len(failed_seeds)} failed"]
    lines += [f"{figure:>9,} {name}" for name, figure in sorted(figures.items())]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(1 if failed_seeds else 0)


if __name__ == "__main__":
    main()
