"""Writes on PostgreSQL that touch the same thing follow one another; others do not wait."""

import asyncio
from dataclasses import replace

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.members.models import Account, Member, Purpose
from service_core.access.members.models import PasswordLink as OneTimeLink
from service_core.access.roles import Role
from service_core.analytics.ports import StoreUnavailable
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope
from tests.fixtures.databases import LONG_TIMEOUT
from tests.fixtures.notes import Note, create_note_client
from tests.plugins.workspace_sql.conftest import NOW, open_directory_at


@pytest.fixture
async def two_stores(workspace_postgres, tmp_path):
    """Two processes."""
    url = f"{workspace_postgres}?{LONG_TIMEOUT}"
    async with open_directory_at(url, tmp_path) as one, open_directory_at(url, tmp_path) as other:
        yield one, other


@pytest.fixture
async def note_clients(two_stores):
    """People of two workspaces, each in a process of their own."""
    one, other = two_stores
    return await create_note_client(one.transactions, one, "shop"), await create_note_client(
        other.transactions, other, "other"
    )


def make_owners(*addresses):
    return [Account(new_id(), address, None, NOW) for address in addresses]


async def test_writes_of_different_workspaces_do_not_wait_for_each_other(two_stores, note_clients):
    shop, other = note_clients
    async with two_stores[0].transactions.write(shop.caller.workspace.id) as unit:
        await unit.triggers.replace_trigger_event_names({"purchase"})
        async with asyncio.timeout(30):
            for name, store in zip(("one", "two"), two_stores, strict=True):
                await other.at(store.transactions).create(name)
                await create_named_key_clamping_rate_limit_to_plan(
                    store.credentials, other.caller.workspace, NOW, name="Bot", scopes=[Scope.READ]
                )
                await store.workspace_settings.replace_workspace_keeping_triggers(
                    replace(other.caller.workspace, name="renamed")
                )
    assert len(await other.notes()) == 2
    assert two_stores[0].credentials.change_version() == await two_stores[0].database._read_counter()


async def test_writes_of_one_workspace_are_serialised_across_processes(two_stores, note_clients, monkeypatch):
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


async def test_concurrent_claims_of_a_deployment_wide_name_have_one_winner(note_clients, monkeypatch):
    monkeypatch.setattr(Note, "unique_keys", lambda note: (f"note:{note.name}",))
    made = (api_client.create("Plan") for api_client in note_clients for _ in range(5))
    result = await asyncio.gather(*made, return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in result) == 9
    assert sum([len(await api_client.notes()) for api_client in note_clients]) == 1


async def test_concurrent_mutual_removal_keeps_one_owner(two_stores, note_clients):
    shop = note_clients[0].caller.workspace
    ann, bob = make_owners("ann@example.com", "bob@example.com")
    for person in (ann, bob):
        await two_stores[0].accounts.save_account_unless_email_taken(person)
        await two_stores[0].members.save_member_unless_no_owner_left(
            Member(shop.id, person.id, Role.OWNER, NOW), NOW
        )
    removed = await asyncio.gather(
        *(
            store.members.remove_member_unless_last_owner(shop.id, person.id, NOW)
            for store, person in zip(two_stores, (ann, bob), strict=True)
        )
    )
    assert sorted(removed) == [False, True]
    assert len(await two_stores[0].members.list_members(shop.id)) == 1


async def test_one_of_20_accounts_gets_an_address(two_stores):
    people = make_owners(*["ann@example.com"] * 20)
    kept = await asyncio.gather(
        *(
            two_stores[n % 2].accounts.save_account_unless_email_taken(person)
            for n, person in enumerate(people)
        )
    )
    assert kept.count(True) == 1
    assert await two_stores[0].accounts.find_account_by_email("ann@example.com") == people[kept.index(True)]


async def test_one_of_20_uses_of_a_password_link_succeeds(two_stores):
    (ann,) = make_owners("ann@example.com")
    await two_stores[0].accounts.save_account_unless_email_taken(ann)
    link = OneTimeLink(ann.id, Purpose.PASSWORD, NOW.replace(year=2027))
    await two_stores[0].accounts.save_password_link(link, sha256_hex("secret"))
    uses = (
        store.accounts.consume_unexpired_password_link(sha256_hex("secret"), Purpose.PASSWORD, NOW)
        for store in two_stores
        for _ in range(10)
    )
    found = await asyncio.gather(*uses)
    assert [one for one in found if one is not None] == [link]
