"""Ids of records: in the order they were made, whatever the clock does."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from uuid import RFC_4122

import pytest

from service_core.kernel import ids
from service_core.kernel.ids import new_id


@pytest.fixture(autouse=True)
def new_id_counter(monkeypatch):
    monkeypatch.setattr(ids, "_ID_NUMBERS", ids._MonotonicUuid7Numbers())


def assert_increasing(made):
    return all(earlier < later for earlier, later in pairwise(made))


@pytest.mark.parametrize("step", [0, 1_000_000, -1_000_000], ids=["stands still", "goes on", "is set back"])
def test_later_ids_are_larger(monkeypatch, step):
    present = [time.time_ns()]
    monkeypatch.setattr(time, "time_ns", lambda: present.append(present[-1] + step) or present[-1])
    made = [new_id() for _ in range(1000)]
    assert assert_increasing(made)
    assert {(each.version, each.variant) for each in made} == {(7, RFC_4122)}


def test_id_contains_its_creation_time(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_783_522_800_123_456_789)
    assert new_id().int >> 80 == 1_783_522_800_123


def test_ids_are_unique_across_threads_and_processes():
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: [new_id() for _ in range(500)], range(8)))
    assert all(map(assert_increasing, made))
    assert len(set(chain(*made))) == 4000
