"""Each part of the directory on each database, with the races it has to decide between two processes."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.access.members.models import Account, Member
from service_core.access.models import OAuthGrant
from service_core.access.oauth.models import IssuedTokens, OneTimeToken, OneTimeTokenKind
from service_core.access.passkeys.models import Challenge, Passkey
from service_core.access.roles import Role
from service_core.delivery.exports.models import Export, ExportFormat, ExportStatus, ExportType
from service_core.delivery.imports.models import ImportFormat, ImportJob
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope
from service_core.workspace.links.clicks import Click
from service_core.workspace.links.ports import ClickCount
from tests.plugins.workspace_sql.conftest import NOW


@pytest.fixture
async def two_stores(open_directory, directory):
    """Two processes."""
    async with open_directory() as other:
        yield directory, other


@pytest.fixture
def workspace(initialized_deployment):
    return initialized_deployment.workspace


def make_export(workspace, **more):
    request = (new_id(), workspace.id, new_id(), ExportType.EVENTS, ExportFormat.CSV, "2026-07-01", "7d", NOW)
    return Export(*request, filters={"country": ["DE", "\u00e9"]}, free_at=NOW, due_at=NOW, **more)


async def test_export_reads_back_and_one_process_advances_it(two_stores, workspace):
    one, other = two_stores
    job = make_export(workspace, ticket=sha256_hex("once"))
    assert await one.exports.add_export_or_find_retried(job, 5) == job
    assert await other.exports.add_export_or_find_retried(replace(job, id=new_id()), 5) == job
    assert (
        await other.export_jobs.list_available_exports(NOW, 9)
        == await other.export_jobs.list_timed_out_exports(NOW)
        == [job]
    )
    taken = replace(job, status=ExportStatus.RUNNING, attempt=1, free_at=NOW + timedelta(minutes=5))
    moved = await asyncio.gather(
        *(
            store.export_jobs.replace_export_if_unchanged(job, taken)
            for store in two_stores
            for _ in range(10)
        )
    )
    assert moved.count(True) == 1
    assert await one.exports.find_export(job.id) == taken


async def test_five_of_20_concurrent_exports_are_accepted(two_stores, workspace):
    request = (
        store.exports.add_export_or_find_retried(make_export(workspace), 5)
        for store in two_stores
        for _ in range(10)
    )
    assert sum(taken is not None for taken in await asyncio.gather(*request)) == 5


def make_import(workspace):
    named = {"format": ImportFormat.CSV, "file_name": "\u00e9.csv", "columns": {"a.b": "user_id"}}
    job = ImportJob(id=new_id(), workspace_id=workspace.id, credential_id=new_id(), created_at=NOW, **named)
    return job.wait_for_file()


async def test_import_reads_back_and_one_process_advances_it(two_stores, workspace):
    one, other = two_stores
    job = make_import(workspace)
    assert await one.imports.add_import_unless_too_many(job, 5)
    assert await other.imports.list_imports(workspace.id, 9) == [job]
    assert await other.imports.list_available_imports(NOW, 9) == []
    assert await other.imports.list_timed_out_imports(job.due_at) == [job]
    uploaded = job.begin_check(NOW, 10**10, "digest")
    assert await one.imports.replace_import_if_unchanged(job, uploaded)
    assert await other.imports.list_available_imports(NOW, 9) == [uploaded]
    taken = uploaded.claim_or_fail(NOW)
    moved = await asyncio.gather(
        *(
            store.imports.replace_import_if_unchanged(uploaded, taken)
            for store in two_stores
            for _ in range(10)
        )
    )
    assert moved.count(True) == 1
    ready = taken.become_ready(NOW, {"events": [{"event": "x"}], "counts": {"queued": 1}})
    assert await one.imports.replace_import_if_unchanged(taken, ready)
    ended = ready.cancel(NOW)
    assert await one.imports.replace_import_if_unchanged(ready, ended)
    assert await other.imports.find_import(job.id) == ended
    assert ended.preview["events"] == []


async def test_five_of_20_concurrent_imports_are_accepted(two_stores, workspace):
    request = (
        store.imports.add_import_unless_too_many(make_import(workspace), 5)
        for store in two_stores
        for _ in range(10)
    )
    assert (await asyncio.gather(*request)).count(True) == 5


async def test_one_of_20_claims_of_a_visit_succeeds(two_stores, workspace):
    claims = (
        store.matched_visits.mark_visit_matched_unless_already(workspace.id, "phone", NOW)
        for store in two_stores
        for _ in range(10)
    )
    assert (await asyncio.gather(*claims)).count(True) == 1
    assert await two_stores[0].matched_visits.select_matched_visits(workspace.id, ["phone", "tablet"]) == {
        "phone"
    }


def make_passkey(account, number=0, **more):
    named = {"credential_id": bytes([number]) * 16, "public_key": b"\x00\xff", "counter": 0} | more
    return Passkey(
        new_id(), account.id, "Laptop", transports=frozenset({"usb", "nfc"}), created_at=NOW, **named
    )


async def list_saved_exports(store, *emails):
    accounts = [Account(new_id(), email, None, NOW) for email in emails]
    for account in accounts:
        await store.accounts.save_account_unless_email_taken(account)
    return accounts


async def test_passkey_has_one_owner_and_their_number_is_limited(two_stores):
    ann, bob = await list_saved_exports(two_stores[0], "ann@example.com", "bob@example.com")
    same = (
        two_stores[n % 2].passkeys.add_passkey(make_passkey((ann, bob)[n // 2 % 2]), 3) for n in range(12)
    )
    assert (await asyncio.gather(*same)).count(True) == 1
    many = (two_stores[n % 2].passkeys.add_passkey(make_passkey(ann, n), 3) for n in range(1, 13))
    await asyncio.gather(*many)
    assert len(await two_stores[0].passkeys.list_passkeys(ann.id)) == 3


async def test_passkey_reads_back_and_its_counter_only_rises(two_stores):
    one, other = two_stores
    [ann] = await list_saved_exports(one, "ann@example.com")
    made = make_passkey(ann)
    assert await one.passkeys.add_passkey(made, 1)
    assert await other.passkeys.find_passkey(made.credential_id) == made
    uses = (
        store.passkeys.record_passkey_use_if_counter_rose(made.id, 2**32 - 1, NOW)
        for store in two_stores
        for _ in range(10)
    )
    assert (await asyncio.gather(*uses)).count(True) == 1
    assert await other.passkeys.list_passkeys(ann.id) == [replace(made, counter=2**32 - 1, used_at=NOW)]
    assert not await one.passkeys.record_passkey_use_if_counter_rose(made.id, 0, NOW)
    assert not await one.passkeys.remove_passkey(new_id(), made.id)
    assert await one.passkeys.remove_passkey(ann.id, made.id)
    assert not await one.passkeys.record_passkey_use_if_counter_rose(made.id, 2**32, NOW)


async def test_one_of_20_challenge_responses_succeeds(two_stores):
    one, _ = two_stores
    [ann] = await list_saved_exports(one, "ann@example.com")
    late = Challenge("browser", None, NOW + timedelta(minutes=1))
    request = replace(late, account_id=ann.id, expires_at=NOW + timedelta(minutes=5))
    await one.passkey_challenges.add_challenge_and_delete_expired(late, sha256_hex("late"), NOW)
    kept = (
        store.passkey_challenges.add_challenge_and_delete_expired(
            request, sha256_hex(f"{n}"), NOW + timedelta(minutes=1)
        )
        for n, store in enumerate(two_stores)
    )
    await asyncio.gather(*kept)
    answers = await asyncio.gather(
        *(
            store.passkey_challenges.delete_and_return_unexpired_challenge(sha256_hex("0"), NOW)
            for store in two_stores
            for _ in range(10)
        )
    )
    assert [answer for answer in answers if answer is not None] == [request]
    assert (
        await one.passkey_challenges.delete_and_return_unexpired_challenge(
            sha256_hex("1"), request.expires_at
        )
        is None
    )
    assert await one.passkey_challenges.delete_and_return_unexpired_challenge(sha256_hex("late"), NOW) is None


async def test_one_of_20_code_exchanges_succeeds_and_the_others_revoke_the_grant(two_stores, workspace):
    one, other = two_stores
    ann = Account(new_id(), "ann@example.com", None, NOW)
    await one.accounts.save_account_unless_email_taken(ann)
    await one.members.save_member_unless_no_owner_left(Member(workspace.id, ann.id, Role.OWNER, NOW), NOW)
    grant = OAuthGrant(new_id(), ann.id, "client", "Program", workspace.id, frozenset({Scope.READ}), NOW)
    code = OneTimeToken(
        OneTimeTokenKind.CODE, grant, NOW + timedelta(minutes=1), "https://example.com/back", "c" * 43
    )
    await one.one_time_tokens.add_grant_and_narrow_earlier_grants(code, sha256_hex("code"))
    assert await other.one_time_tokens.find_token_even_if_used(sha256_hex("code")) == code

    def issued(number):
        later = NOW + timedelta(minutes=15)
        return IssuedTokens(sha256_hex(f"access {number}"), later, sha256_hex(f"refresh {number}"), later)

    exchanged = await asyncio.gather(
        *(
            (one, other)[n % 2].one_time_tokens.use_token_once_or_end_grant(
                sha256_hex("code"), issued(n), NOW
            )
            for n in range(20)
        )
    )
    assert exchanged.count(True) == 1
    assert (
        await one.oauth_grants.find_access_token_even_if_expired(
            sha256_hex(f"access {exchanged.index(True)}")
        )
        is None
    )
    assert await other.one_time_tokens.list_account_grants(ann.id, workspace.id) == []


def make_click(workspace, link_id, ip="203.0.113.7", **more):
    values = {
        "lyr": "spring",
        "clicked_at": NOW,
        "user_agent": "Phone",
        "ip": ip,
        "network": "203.0.113.0/24",
    }
    empty = dict.fromkeys(("country", "device_type", "referrer"))
    return Click(
        id=new_id(), workspace_id=workspace.id, link_id=link_id, click_ids={"gclid": "x"},
        **{**values, **empty, "is_bot": False, **more},
    )  # fmt: skip


async def test_two_processes_count_clicks_once_and_find_them_by_address(two_stores, workspace):
    one, other = two_stores
    link = new_id()
    ann, ben, bot = (
        make_click(workspace, link),
        make_click(workspace, link, "203.0.113.8"),
        make_click(workspace, link, is_bot=True),
    )
    again = replace(ann, id=new_id(), clicked_at=NOW + timedelta(minutes=5))
    sent = [ann, ben, bot, again]
    await asyncio.gather(*(store.clicks.record_clicks(sent) for store in two_stores for _ in range(3)))
    assert await other.clicks.count_clicks(workspace.id, [link]) == {link: ClickCount(3, 1)}
    assert await one.recent_link_clicks.latest_human_click_by_tag(workspace.id, "203.0.113.7", NOW) == {
        "spring": again.clicked_at
    }
    await one.clicks.purge_click_ips(NOW + timedelta(days=1))
    assert await other.recent_link_clicks.latest_human_click_by_tag(workspace.id, "203.0.113.7", NOW) == {}
    assert await other.clicks.count_clicks(workspace.id) == {link: ClickCount(3, 1)}


async def test_removed_imports_are_not_open(directory, workspace):
    imports = directory.imports
    for _ in range(2):
        job = make_import(workspace)
        assert await imports.add_import_unless_too_many(job, 1)
        removing = job.cancel(NOW).begin_removal(NOW)
        assert await imports.replace_import_if_unchanged(job, removing)
    assert await imports.replace_import_if_unchanged(removing, removing.become_removed(1))
    assert await imports.add_import_unless_too_many(make_import(workspace), 1)
