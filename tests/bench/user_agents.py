"""Measures what the user agent parser detects of a public data set, and its time per event.

    python -m tests.bench.user_agents [--events 200000]

The data set are the fixtures of Matomo's device detector, which the ``device-detector`` package contains. Agents of
events repeat as a Zipf distribution does: the second most frequent agent is half as frequent as the first. The
times are processor time of one process.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from time import thread_time

from plugins.devices_useragent.adapter import MAX_USER_AGENT_LENGTH, DeviceDetectorAdapter
from plugins.devices_useragent.settings import DEFAULT_CACHE_SIZE
from tests.plugins.device_fixtures import DeviceFixture, load_device_fixtures, matches_by_field

SEED = 1


def detection_rates(parser: DeviceDetectorAdapter, fixtures: Iterable[DeviceFixture]) -> dict[str, str]:
    """Returns the share of fixtures whose value is detected, by field."""
    right: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for fixture in fixtures:
        for field, matches in matches_by_field(parser.parse(fixture.user_agent), fixture).items():
            count[field] += 1
            right[field] += matches
    return {
        field: f"{100 * right[field] / count[field]:.2f} % of {count[field]:,}" for field in sorted(count)
    }


def uncached_microseconds(parser: DeviceDetectorAdapter, agents: list[str]) -> list[float]:
    """Returns the sorted times of parsing each agent once."""
    times = []
    for agent in agents:
        start = thread_time()
        parser.parse(agent)
        times.append(1e6 * (thread_time() - start))
    return sorted(times)


def cached_microseconds(parser: DeviceDetectorAdapter, agents: list[str], events: int) -> float:
    """Returns the mean time of an event of a Zipf distribution over the agents, after as many others."""
    weights = list(accumulate(1 / rank for rank in range(1, len(agents) + 1)))
    stream = random.Random(SEED).choices(agents, cum_weights=weights, k=2 * events)
    for agent in stream[:events]:
        parser.parse(agent)
    start = thread_time()
    for agent in stream[events:]:
        parser.parse(agent)
    return 1e6 * (thread_time() - start) / events


def open_parser(cache_size: int) -> tuple[DeviceDetectorAdapter, float]:
    """Returns a parser with compiled patterns, and the seconds that compiling them took."""
    parser = DeviceDetectorAdapter(cache_size)
    start = thread_time()
    parser.parse("Mozilla/5.0")
    return parser, thread_time() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=200_000)
    given = arguments.parse_args()
    fixtures = load_device_fixtures()
    agents = list({fixture.user_agent[:MAX_USER_AGENT_LENGTH] for fixture in fixtures})
    random.Random(SEED).shuffle(agents)
    parser, seconds = open_parser(cache_size=0)
    sys.stdout.write(
        f"{len(fixtures):,} fixtures, {len(agents):,} agents; patterns compiled in {seconds:.1f} s\n"
    )
    for field, rate in detection_rates(parser, fixtures).items():
        sys.stdout.write(f"{field}: {rate}\n")
    times = uncached_microseconds(parser, agents)
    middle, rare = times[len(times) // 2], times[len(times) * 99 // 100]
    sys.stdout.write(
        f"without cache: mean {sum(times) / len(times):.0f}, median {middle:.0f}, 99th percentile {rare:.0f}, "
        f"longest {times[-1]:.0f} microseconds\n"
    )
    cached, _ = open_parser(DEFAULT_CACHE_SIZE)
    each = cached_microseconds(cached, agents, given.events)
    sys.stdout.write(f"with cache, {given.events:,} events: {each:.1f} microseconds an event\n")


if __name__ == "__main__":
    main()
