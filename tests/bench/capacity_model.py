"""What a ClickHouse deployment of a size needs: one function, for the deployers' page and for the benchmark.

    python -m tests.bench.capacity_model

prints the tables of ``docs/deployers/clickhouse-capacity.md``. The constants are fitted to what
`tests.bench.capacity` measured at ten and at fifty million events.
"""

from math import ceil
from typing import Final, NamedTuple

EVENT_BYTES: Final = 58.0
DERIVED_BYTES: Final = 50.0
APPEND_SECONDS: Final = 0.00015
SHARD_BYTES: Final = 1e12
"""What a shard holds with room for merges, and is copied to a new machine within hours."""

YEAR_SECONDS: Final = 365 * 86_400
PEAK_FACTOR: Final = 5
"""Events of the busiest minute to those of an average one."""

READ_SECONDS: Final = {
    "totals": (0.03, 0.05),
    "breakdown": (0.035, 0.02),
    "attribution": (0.3, 0.5),
    "retention": (0.27, 0.6),
    "funnel": (0.0, 1.5),
}
"""Seconds of a processor for a kind of question: for each million events the workspace has, whose visitors
and sessions are looked through, and for each million it reads."""

SIZES: Final = (1_000_000_000, 10_000_000_000, 100_000_000_000)
SHARE: Final = 1_000
"""A workspace of the table has one of so many events."""

PROCESSORS: Final = 16


class CapacityNeeds(NamedTuple):
    """What is needed.

    Attributes:
        bytes_events: of the events, on the disks of one copy.
        bytes_derived: of what follows from them, likewise.
        shards: that hold a copy.
        writers: processors that are busy with a year of them in its busiest minutes.
        seconds: until a question is answered, by its kind.
    """

    bytes_events: float
    bytes_derived: float
    shards: int
    writers: float
    seconds: dict[str, float]


def estimate_needs(events: int, own: int = 0, read: int = 0, processors: int = PROCESSORS) -> CapacityNeeds:
    """What a number of events needs.

    Args:
        events: stored, in a year where writing is concerned.
        own: of the workspace that asks a question.
        read: by the question: those of its own in the days it asks about.
        processors: that answer it.
    """
    held, derived = events * EVENT_BYTES, events * DERIVED_BYTES
    return CapacityNeeds(
        held,
        derived,
        ceil((held + derived) / SHARD_BYTES),
        events / YEAR_SECONDS * PEAK_FACTOR * APPEND_SECONDS,
        {
            kind: (has * own + reads * read) / 1_000_000 / processors
            for kind, (has, reads) in READ_SECONDS.items()
        },
    )


def deployment_table_rows() -> list[str]:
    """The rows of the page's table."""
    rows = []
    for events in SIZES:
        need, each = estimate_needs(events), estimate_needs(events, events // SHARE, events // SHARE)
        disk = (need.bytes_events + need.bytes_derived) / 1e12
        times = " | ".join(f"{each.seconds[kind]:.2g} s" for kind in ("totals", "attribution", "funnel"))
        rows.append(
            f"| {events // 10**9} billion | {disk:.2g} TB | {need.shards} | {need.writers:.2f} | {times} |"
        )
    return rows


if __name__ == "__main__":
    print("\n".join(deployment_table_rows()))  # noqa: T201 - its answer
