"""Writes on PostgreSQL that touch the same thing follow one another; others do not wait."""

import asyncio
from dataclasses import replace

import pytest

from service_core.access.api_keys import create_named_key
from service_core.access.members.models import Account, Member, Purpose
from service_core.access.members.models import PasswordLink as OneTimeLink
from service_core.access.roles import Role
from service_core.analytics.ports import StoreUnavailable
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope
from tests.fixtures.databases import LONG_TIMEOUT
from tests.fixtures.notes import Note, create_note_client
from tests.plugins.workspace_sql.conftest import NOW, opened_at


@pytest.fixture
async def two_stores(workspace_postgres, tmp_path):
    """Two processes."""
    url = f"{workspace_postgres}?{LONG_TIMEOUT}"
    async with opened_at(url, tmp_path) as one, opened_at(url, tmp_path) as other:
        yield one, other


@pytest.fixture
async def note_clients(two_stores):
    """People of two workspaces, each in a process of their own."""
    one, other = two_stores
    return await create_note_client(one.transactions, one, "shop"), await create_note_client(
        other.transactions, other, "other"
    )


def owners(*addresses):
    return [Account(new_id(), address, None, NOW) for address in addresses]


async def test_a_workspace_waits_for_nobody_else_also_when_keys_and_triggers_change(two_stores, note_clients):
    shop, other = note_clients
    async with two_stores[0].transactions.write(shop.caller.workspace.id) as unit:
        await unit.triggers.set_triggers({"purchase"})
        async with asyncio.timeout(30):
            for name, door in zip(("one", "two"), two_stores, strict=True):
                await other.at(door.transactions).create(name)
                await create_named_key(
                    door.credentials, other.caller.workspace, NOW, name="Bot", scopes=[Scope.READ]
                )
                await door.workspace_settings.save_workspace(replace(other.caller.workspace, name="renamed"))
    assert len(await other.notes()) == 2
    assert two_stores[0].credentials.change_version() == await two_stores[0].database._read_counter()


async def test_one_workspace_has_one_writer_whichever_process_it_is(two_stores, note_clients, monkeypatch):
    shop, _ = note_clients
    async with two_stores[0].transactions.write(shop.caller.workspace.id):
        with monkeypatch.context() as hasty:
            database = two_stores[1].database
            hasty.setattr(
                database, "_settings", database._settings.model_copy(update={"timeout_seconds": 0.3})
            )
            with pytest.raises(StoreUnavailable):
                await shop.at(two_stores[1].transactions).create("Plan")
    assert await shop.notes() == []
    await shop.at(two_stores[1].transactions).create("Plan")


async def test_of_two_workspaces_that_want_one_name_of_the_deployment_one_gets_it(note_clients, monkeypatch):
    monkeypatch.setattr(Note, "unique_keys", lambda note: (f"note:{note.name}",))
    made = (api_client.create("Plan") for api_client in note_clients for _ in range(5))
    told = await asyncio.gather(*made, return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in told) == 9
    assert sum([len(await api_client.notes()) for api_client in note_clients]) == 1


async def test_owners_who_remove_each_other_at_once_leave_one(two_stores, note_clients):
    shop = note_clients[0].caller.workspace
    ann, bob = owners("ann@example.com", "bob@example.com")
    for person in (ann, bob):
        await two_stores[0].accounts.save_account(person)
        await two_stores[0].members.save_member(Member(shop.id, person.id, Role.OWNER, NOW))
    removed = await asyncio.gather(
        *(
            door.members.remove_member(shop.id, person.id)
            for door, person in zip(two_stores, (ann, bob), strict=True)
        )
    )
    assert sorted(removed) == [False, True]
    assert len(await two_stores[0].members.list_members(shop.id)) == 1


async def test_of_20_people_who_want_one_address_one_gets_it(two_stores):
    people = owners(*["ann@example.com"] * 20)
    kept = await asyncio.gather(
        *(two_stores[n % 2].accounts.save_account(person) for n, person in enumerate(people))
    )
    assert kept.count(True) == 1
    assert await two_stores[0].accounts.find_account_by_email("ann@example.com") == people[kept.index(True)]


async def test_of_20_uses_of_a_link_one_counts(two_stores):
    (ann,) = owners("ann@example.com")
    await two_stores[0].accounts.save_account(ann)
    link = OneTimeLink(ann.id, Purpose.PASSWORD, NOW.replace(year=2027))
    await two_stores[0].accounts.save_password_link(link, sha256_hex("secret"))
    uses = (
        door.accounts.consume_password_link(sha256_hex("secret"), Purpose.PASSWORD, NOW)
        for door in two_stores
        for _ in range(10)
    )
    found = await asyncio.gather(*uses)
    assert [one for one in found if one is not None] == [link]
