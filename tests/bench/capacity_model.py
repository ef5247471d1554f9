"""Estimates what a ClickHouse deployment needs; used by the deployers' page and by the benchmark.

    python -m tests.bench.capacity_model

prints the tables of ``docs/deployers/clickhouse-capacity.md``. The constants are fitted to the measurements of
`tests.bench.capacity` with ten and fifty million events.
"""

from math import ceil
from typing import Final, NamedTuple

EVENT_BYTES: Final = 58.0
DERIVED_BYTES: Final = 50.0
APPEND_SECONDS: Final = 0.00015
SHARD_BYTES: Final = 1e12
"""The data of a shard that leaves room for merges and can be copied to a new machine within hours."""

YEAR_SECONDS: Final = 365 * 86_400
PEAK_FACTOR: Final = 5
"""Events of the busiest minute relative to an average one."""

READ_SECONDS: Final = {
    "totals": (0.03, 0.05),
    "breakdown": (0.035, 0.02),
    "attribution": (0.3, 0.5),
    "retention": (0.27, 0.6),
    "funnel": (0.0, 1.5),
}
"""CPU seconds of a kind of read: per million events of the workspace, and per million events it reads."""

SIZES: Final = (1_000_000_000, 10_000_000_000, 100_000_000_000)
SHARE: Final = 1_000
"""The workspace of the table has one of this many events."""

PROCESSORS: Final = 16


class CapacityNeeds(NamedTuple):
    """The estimated resources.

    Attributes:
        bytes_events: bytes of the events in one replica.
        bytes_derived: bytes of the derived tables in one replica.
        shards: number of shards of a replica.
        writers: processors used by appends in the busiest minutes of a year.
        seconds: duration of a read, by its kind.
    """

    bytes_events: float
    bytes_derived: float
    shards: int
    writers: float
    seconds: dict[str, float]


def estimate_needs(events: int, own: int = 0, read: int = 0, processors: int = PROCESSORS) -> CapacityNeeds:
    """Returns the resources for a number of events.

    Args:
        events: stored events; for appends the events of a year.
        own: events of the workspace that is read.
        read: events of the workspace in the range of the read.
        processors: processors that run the read.
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
    """Returns the rows of the table in the docs."""
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
