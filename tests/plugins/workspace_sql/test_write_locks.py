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
async def doors(workspace_postgres, tmp_path):
    """Two processes."""
    url = f"{workspace_postgres}?{LONG_TIMEOUT}"
    async with opened_at(url, tmp_path) as one, opened_at(url, tmp_path) as other:
        yield one, other


@pytest.fixture
async def desks(doors):
    """People of two workspaces, each in a process of their own."""
    one, other = doors
    return await create_note_client(one.transactions, one, "shop"), await create_note_client(
        other.transactions, other, "other"
    )


def owners(*addresses):
    return [Account(new_id(), address, None, NOW) for address in addresses]


async def test_a_workspace_waits_for_nobody_else_also_when_keys_and_triggers_change(doors, desks):
    shop, other = desks
    async with doors[0].transactions.write(shop.caller.workspace.id) as unit:
        await unit.triggers.set_triggers({"purchase"})
        async with asyncio.timeout(30):
            for name, door in zip(("one", "two"), doors, strict=True):
                await other.at(door.transactions).create(name)
                await create_named_key(
                    door.credentials, other.caller.workspace, NOW, name="Bot", scopes=[Scope.READ]
                )
                await door.workspace_settings.save_workspace(replace(other.caller.workspace, name="renamed"))
    assert len(await other.notes()) == 2
    assert doors[0].credentials.change_version() == await doors[0].database._read_counter()


async def test_one_workspace_has_one_writer_whichever_process_it_is(doors, desks, monkeypatch):
    shop, _ = desks
    async with doors[0].transactions.write(shop.caller.workspace.id):
        with monkeypatch.context() as hasty:
            database = doors[1].database
            hasty.setattr(
                database, "_settings", database._settings.model_copy(update={"timeout_seconds": 0.3})
            )
            with pytest.raises(StoreUnavailable):
                await shop.at(doors[1].transactions).create("Plan")
    assert await shop.notes() == []
    await shop.at(doors[1].transactions).create("Plan")


async def test_of_two_workspaces_that_want_one_name_of_the_deployment_one_gets_it(desks, monkeypatch):
    monkeypatch.setattr(Note, "unique_keys", lambda note: (f"note:{note.name}",))
    made = (api_client.create("Plan") for api_client in desks for _ in range(5))
    told = await asyncio.gather(*made, return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in told) == 9
    assert sum([len(await api_client.notes()) for api_client in desks]) == 1


async def test_owners_who_remove_each_other_at_once_leave_one(doors, desks):
    shop = desks[0].caller.workspace
    ann, bob = owners("ann@example.com", "bob@example.com")
    for person in (ann, bob):
        await doors[0].accounts.save_account(person)
        await doors[0].members.save_member(Member(shop.id, person.id, Role.OWNER, NOW))
    removed = await asyncio.gather(
        *(
            door.members.remove_member(shop.id, person.id)
            for door, person in zip(doors, (ann, bob), strict=True)
        )
    )
    assert sorted(removed) == [False, True]
    assert len(await doors[0].members.list_members(shop.id)) == 1


async def test_of_20_people_who_want_one_address_one_gets_it(doors):
    people = owners(*["ann@example.com"] * 20)
    kept = await asyncio.gather(
        *(doors[n % 2].accounts.save_account(person) for n, person in enumerate(people))
    )
    assert kept.count(True) == 1
    assert await doors[0].accounts.find_account_by_email("ann@example.com") == people[kept.index(True)]


async def test_of_20_uses_of_a_link_one_counts(doors):
    (ann,) = owners("ann@example.com")
    await doors[0].accounts.save_account(ann)
    link = OneTimeLink(ann.id, Purpose.PASSWORD, NOW.replace(year=2027))
    await doors[0].accounts.save_password_link(link, sha256_hex("secret"))
    uses = (
        door.accounts.consume_password_link(sha256_hex("secret"), Purpose.PASSWORD, NOW)
        for door in doors
        for _ in range(10)
    )
    found = await asyncio.gather(*uses)
    assert [one for one in found if one is not None] == [link]
