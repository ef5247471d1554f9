"""The conformance kit of the port ``workspace``: records read back unchanged, and races between two processes are decided.

Override the fixture ``open_store`` and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyStore(WorkspaceStoreConformance):
        @pytest.fixture
        def open_store(self, tmp_path):
            @asynccontextmanager
            async def opened():
                store = open_my_store(tmp_path)
                await store.start()
                yield store
                await store.aclose()

            return opened

Each call of the returned function opens the same database, as another process does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest

from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.members.models import Account, Member
from service_core.access.models import OAuthGrant, Workspace
from service_core.access.oauth.models import IssuedTokens, OneTimeToken, OneTimeTokenKind
from service_core.access.passkeys.models import Challenge, Passkey
from service_core.access.roles import Role
from service_core.delivery.exports.models import Export, ExportFormat, ExportStatus, ExportType
from service_core.delivery.imports.models import ImportFormat, ImportJob
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope
from service_core.workspace.links.clicks import Click
from service_core.workspace.links.ports import ClickCount

NOW: Final = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
TwoStores = tuple[WorkspaceStore, WorkspaceStore]
OpenWorkspaceStore = Callable[[], AbstractAsyncContextManager[WorkspaceStore]]
"""Opens the store under test, as one more process does."""


class WorkspaceStoreConformance:
    """All tests of the kit; override the fixture ``open_store``."""

    @pytest.fixture
    def open_store(self) -> OpenWorkspaceStore:
        """Returns a function that opens the store under test; each call opens the same database."""
        raise pytest.UsageError("override the fixture `open_store` with a function that opens the store")

    @pytest.fixture
    async def store(self, open_store: OpenWorkspaceStore) -> AsyncIterator[WorkspaceStore]:
        """Yields the store, opened once."""
        async with open_store() as store:
            yield store

    @pytest.fixture
    async def two_stores(
        self, store: WorkspaceStore, open_store: OpenWorkspaceStore
    ) -> AsyncIterator[TwoStores]:
        """Yields the store as two processes have it."""
        async with open_store() as other:
            yield store, other

    @pytest.fixture
    async def workspace(self, store: WorkspaceStore) -> Workspace:
        """Returns a new workspace."""
        created = await create_workspace_with_keys(store.credentials, NOW, name="Example Shop")
        return created.workspace

    async def test_export_reads_back_and_one_process_advances_it(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """An export job reads back unchanged, a retried one is found by its ticket, and one of 20 concurrent changes succeeds."""
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

    async def test_five_of_20_concurrent_exports_are_accepted(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """The limit of active exports holds between processes."""
        request = (
            store.exports.add_export_or_find_retried(make_export(workspace), 5)
            for store in two_stores
            for _ in range(10)
        )
        assert sum(taken is not None for taken in await asyncio.gather(*request)) == 5

    async def test_import_reads_back_and_one_process_advances_it(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """An import job reads back in each of its states, and one of 20 concurrent changes succeeds."""
        one, other = two_stores
        job = make_import(workspace)
        assert await one.imports.add_import_unless_too_many(job, 5)
        assert await other.imports.list_imports(workspace.id, 9) == [job]
        assert await other.imports.list_available_imports(NOW, 9) == []
        assert await other.imports.list_timed_out_imports(job.due_at or NOW) == [job]
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
        assert (ended.preview or {})["events"] == []

    async def test_five_of_20_concurrent_imports_are_accepted(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """The limit of open imports holds between processes."""
        request = (
            store.imports.add_import_unless_too_many(make_import(workspace), 5)
            for store in two_stores
            for _ in range(10)
        )
        assert (await asyncio.gather(*request)).count(True) == 5

    async def test_one_of_20_claims_of_a_visit_succeeds(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """A visit is matched once."""
        claims = (
            store.matched_visits.mark_visit_matched_unless_already(workspace.id, "phone", NOW)
            for store in two_stores
            for _ in range(10)
        )
        assert (await asyncio.gather(*claims)).count(True) == 1
        assert await two_stores[0].matched_visits.select_matched_visits(
            workspace.id, ["phone", "tablet"]
        ) == {"phone"}

    async def test_passkey_has_one_owner_and_their_number_is_limited(self, two_stores: TwoStores) -> None:
        """A passkey belongs to one account, and no account has more than its limit."""
        ann, bob = await save_accounts(two_stores[0], "ann@example.com", "bob@example.com")
        same = (
            two_stores[n % 2].passkeys.add_passkey(make_passkey((ann, bob)[n // 2 % 2]), 3) for n in range(12)
        )
        assert (await asyncio.gather(*same)).count(True) == 1
        many = (two_stores[n % 2].passkeys.add_passkey(make_passkey(ann, n), 3) for n in range(1, 13))
        await asyncio.gather(*many)
        assert len(await two_stores[0].passkeys.list_passkeys(ann.id)) == 3

    async def test_passkey_reads_back_and_its_counter_only_rises(self, two_stores: TwoStores) -> None:
        """A passkey reads back unchanged, and no use with an old counter is recorded."""
        one, other = two_stores
        [ann] = await save_accounts(one, "ann@example.com")
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

    async def test_one_of_20_challenge_responses_succeeds(self, two_stores: TwoStores) -> None:
        """A challenge is answered once, and not after it expired."""
        one, _ = two_stores
        [ann] = await save_accounts(one, "ann@example.com")
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
        assert (
            await one.passkey_challenges.delete_and_return_unexpired_challenge(sha256_hex("late"), NOW)
            is None
        )

    async def test_one_of_20_code_exchanges_succeeds_and_the_others_revoke_the_grant(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """A code is exchanged once; a second exchange ends the grant and its tokens."""
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

        def issued(number: int) -> IssuedTokens:
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

    async def test_two_processes_count_clicks_once_and_find_them_by_address(
        self, two_stores: TwoStores, workspace: Workspace
    ) -> None:
        """Clicks that are recorded twice count once, repeats and bots count as such, and purged addresses are gone."""
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
        assert (
            await other.recent_link_clicks.latest_human_click_by_tag(workspace.id, "203.0.113.7", NOW) == {}
        )
        assert await other.clicks.count_clicks(workspace.id) == {link: ClickCount(3, 1)}

    async def test_removed_imports_are_not_open(self, store: WorkspaceStore, workspace: Workspace) -> None:
        """An import that is being removed leaves room for another one."""
        imports = store.imports
        for _ in range(2):
            job = make_import(workspace)
            assert await imports.add_import_unless_too_many(job, 1)
            removing = job.cancel(NOW).begin_removal(NOW)
            assert await imports.replace_import_if_unchanged(job, removing)
        assert await imports.replace_import_if_unchanged(removing, removing.complete_removal(1))
        assert await imports.add_import_unless_too_many(make_import(workspace), 1)


def make_export(workspace: Workspace, **more: Any) -> Export:
    """Returns a queued export."""
    request = (new_id(), workspace.id, new_id(), ExportType.EVENTS, ExportFormat.CSV, "2026-07-01", "7d", NOW)
    return Export(*request, filters={"country": ["DE", "\u00e9"]}, free_at=NOW, due_at=NOW, **more)


def make_import(workspace: Workspace) -> ImportJob:
    """Returns an import that waits for its file."""
    named: dict[str, Any] = {
        "format": ImportFormat.CSV,
        "file_name": "\u00e9.csv",
        "columns": {"a.b": "user_id"},
    }
    job = ImportJob(id=new_id(), workspace_id=workspace.id, credential_id=new_id(), created_at=NOW, **named)
    return job.wait_for_file()


def make_passkey(account: Account, number: int = 0, **more: Any) -> Passkey:
    """Returns a passkey of an account."""
    named: dict[str, Any] = {
        "credential_id": bytes([number]) * 16,
        "public_key": b"\x00\xff",
        "counter": 0,
    } | more
    return Passkey(
        new_id(), account.id, "Laptop", transports=frozenset({"usb", "nfc"}), created_at=NOW, **named
    )


async def save_accounts(store: WorkspaceStore, *emails: str) -> list[Account]:
    """Saves an account for each e-mail address and returns them."""
    accounts = [Account(new_id(), email, None, NOW) for email in emails]
    for account in accounts:
        await store.accounts.save_account_unless_email_taken(account)
    return accounts


def make_click(workspace: Workspace, link_id: UUID, ip: str = "203.0.113.7", **more: Any) -> Click:
    """Returns a click on a link."""
    values: dict[str, Any] = {
        "lyr": "spring",
        "clicked_at": NOW,
        "user_agent": "Phone",
        "ip": ip,
        "network": "203.0.113.0/24",
    }
    empty: dict[str, Any] = dict.fromkeys(("country", "device_type", "referrer"))
    return Click(
        id=new_id(), workspace_id=workspace.id, link_id=link_id, click_ids={"gclid": "x"},
        **{**values, **empty, "is_bot": False, **more},
    )  # fmt: skip
