"""The workspace store gives its rows as they were at an earlier instant, on each database."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest

from plugins.workspace_sql.row_history import REPLACED_ROWS
from service_core.access.models import Workspace
from service_core.changes.actor import Actor
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import SpendQuery
from service_core.commerce.subscriptions.ports import MovementQuery
from service_core.commerce.sync.freshness import PollState
from service_core.kernel.exchange_rates import DayRate
from service_core.privacy.models import PersonSubject
from service_core.workspace.segments.models import Segment
from tests.commerce.ads.ad_spend_data import DAY, ad_campaign, spend_row
from tests.commerce.costs.cost_data import item_cost
from tests.commerce.subscriptions.subscription_data import FIRST, MONTHLY
from tests.plugins.workspace_sql.conftest import NOW

HOUR = timedelta(hours=1)
RATE = DayRate(DAY, "USD", Decimal("1.25"))


class Store:
    """A store with a clock, and the workspace whose rows change."""

    def __init__(self, directory, workspace):
        self.directory, self.workspace, self.now = directory, workspace, NOW
        directory.history.use_clock(lambda: self.now)

    async def record(self, number):
        """Replaces every fact by those of a number."""
        store, id_ = self.directory, self.workspace.id
        await store.workspace_settings.replace_workspace_keeping_triggers(
            replace(self.workspace, name=f"Shop {number}")
        )
        spent = spend_row("meta", ad_campaign("c1", f"name {number}"), spend=number)
        await store.ad_spend.add_new_spend_versions(id_, [replace(spent, fetched_at=self.now)])
        await store.item_costs.save_or_replace_costs(id_, uuid4(), [item_cost("A", number)], NOW)
        await store.exchange_rates.save_rates("file", [replace(RATE, per_euro=Decimal(number))], self.now)
        await store.poll_states.save_poll_state(id_, "stripe", PollState(read_at=self.now))
        state = replace(MONTHLY, message_id=f"m{number}", at=FIRST + number * HOUR, amount=number * 100)
        await store.subscriptions.add_new_subscription_reports(id_, [state], [])
        async with store.transactions.write(id_) as transaction:
            for segment in await transaction.resources.list_all(Segment):
                await transaction.resources.remove(segment, self.now)
            await transaction.resources.save(segment_named(f"segment {number}", id_))

    async def read(self, store):
        """Returns every fact of a store."""
        id_ = self.workspace.id
        async with store.transactions.read(id_) as transaction:
            names = [row.name for row in await transaction.tables.list_rows(Workspace)]
            segments = [segment.name for segment in await transaction.resources.list_all(Segment)]
        query = SpendQuery(id_, DAY, DAY, AdLevel.CAMPAIGN, group_by=("campaign_name",))
        movements = MovementQuery(id_, (FIRST - HOUR, FIRST + 99 * HOUR), group_by=())
        return (
            names,
            segments,
            await store.ad_spend.sum_latest_spend(query),
            await store.item_costs.list_costs(id_),
            await store.exchange_rates.list_rates_published_between("file", ["USD"], DAY, DAY),
            await store.poll_states.states_by_provider(id_),
            sorted(map(repr, await store.subscriptions.sum_movements(movements))),
        )

    async def read_as_of(self, as_of):
        async with self.directory.history.restore(self.workspace.id, as_of) as past:
            return await self.read(past)


def segment_named(name, workspace_id):
    created_by = Actor(type="system", id=workspace_id, client_id=None)
    return Segment(
        id=uuid4(),
        workspace_id=workspace_id,
        name=name,
        visibility="workspace",
        filters=(),
        created_at=NOW,
        updated_at=NOW,
        created_via="api",
        created_by=created_by,
    )


@pytest.fixture
def store(directory, initialized_deployment):
    return Store(directory, initialized_deployment.workspace)


async def test_rows_of_each_instant_are_given_again(store):
    given = {}
    for number in (1, 2, 3):
        store.now += HOUR
        await store.record(number)
        given[store.now + HOUR / 2] = await store.read(store.directory)
    assert len(set(map(repr, given.values()))) == 3
    for as_of, facts in given.items():
        assert await store.read_as_of(as_of) == facts


async def test_workspace_is_unknown_before_its_first_row(store):
    start = await store.directory.history.recording_start(store.workspace.id)
    assert (await store.read_as_of(start - HOUR))[0] == []
    assert (await store.read_as_of(start))[0] == [store.workspace.name]


async def test_replaced_rows_are_deleted_after_their_retention(store):
    for number in (1, 2):
        store.now += HOUR
        await store.record(number)
    assert await count_replaced_rows(store)
    await store.directory.history.delete_replaced_rows(store.now + HOUR)
    assert not await count_replaced_rows(store)
    assert (await store.read_as_of(store.now))[0] == ["Shop 2"]


async def test_unchanged_rows_are_not_kept_twice(store):
    rates = store.directory.exchange_rates
    await rates.save_rates("file", [RATE], NOW)
    before = await count_replaced_rows(store)
    store.now += HOUR
    await rates.save_rates("file", [RATE, replace(RATE, day=date(2026, 7, 2))], NOW)
    assert await count_replaced_rows(store) == before


async def test_person_is_erased_from_replaced_rows(store):
    async with store.directory.transactions.write(store.workspace.id) as transaction:
        segment = segment_named("of ada@example.com", store.workspace.id)
        await transaction.resources.save(segment)
        await transaction.resources.remove(segment, NOW)
    subject = PersonSubject(ids=frozenset({"ada@example.com"}))
    await store.directory.personal_records.erase_personal_records(store.workspace.id, subject)
    rows = await store.directory.database.fetch_rows(REPLACED_ROWS.select())
    assert rows
    assert "ada@example.com" not in repr(rows)


async def count_replaced_rows(store):
    return len(await store.directory.database.fetch_rows(REPLACED_ROWS.select()))
