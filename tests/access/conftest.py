"""A directory that counts questions, and a clock that is moved by hand."""

import re
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from plugins import workspace_sql
from plugins.checkout_sandbox.adapter import SandboxCheckoutAdapter
from plugins.passwords_argon2.adapter import Argon2Passwords
from plugins.passwords_argon2.settings import Argon2Settings
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.key_requests.approvals import Approvals
from service_core.access.members.models import Account, Member
from service_core.access.members.sign_in import SignIn
from service_core.access.models import AuthContext
from service_core.access.ports import RateLimiterUnavailable
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.signup.create import SignupCreator, SignupInput
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.access.workspace_cache import WorkspaceCache
from service_core.extensions.registry import load_plugins
from service_core.kernel.ids import new_id
from service_core.testing.memory.access import MemoryAccess


class HandClock:
    def __init__(self):
        self.now = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)

    def __call__(self):
        return self.now

    def advance(self, **parts):
        self.now += timedelta(**parts)


class CountingDirectory:
    """The directory port in memory; `questions` counts what reached it."""

    def __init__(self):
        self.changes = 0
        self.questions = 0
        self.owners = {}
        self.credentials = {}
        self.digests = {}

    def change_version(self):
        return self.changes

    async def find_auth_context(self, digest):
        self.questions += 1
        credential = self.credentials.get(self.digests.get(digest))
        if credential is None or credential.revoked_at is not None:
            return None
        return AuthContext(credential, self.owners[credential.workspace_id])

    async def create_workspace(self, workspace):
        self.owners[workspace.id] = workspace
        self.changes += 1

    async def list_workspaces(self):
        return list(self.owners.values())

    async def save_credential(self, credential, digest=None):
        self.credentials[credential.id] = credential
        if digest is not None:
            self.digests[digest] = credential.id
        self.changes += 1

    async def list_keys(self, workspace_id):
        return [c for c in self.credentials.values() if c.workspace_id == workspace_id]


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def directory():
    return CountingDirectory()


class Outbox:
    """Mail that stays here; `down` refuses it."""

    def __init__(self):
        self.letters = []
        self.down = False

    async def send(self, message):
        if self.down:
            raise EmailSenderUnavailable
        self.letters.append(message)

    def token(self):
        """The token of the link in the last letter."""
        return re.search(r"token=([\w-]{43})", self.letters[-1].text).group(1)


class Limiter:
    def __init__(self, clock):
        self.windows = FixedWindowCounter(clock)
        self.down = False

    async def consume(self, key, limit, window_seconds):
        if self.down:
            raise RateLimiterUnavailable
        return self.windows.consume(key, limit, window_seconds)


class House:
    """One deployment's people and programs over a store, as the hosts put them together."""

    WEB = "https://app.example"

    def __init__(self, store, clock, mode="checkout", checkout=None):
        self.store, self.clock = store, clock
        self.mail, self.limiter = Outbox(), Limiter(clock)
        self.checkout = checkout or SandboxCheckoutAdapter()
        workspaces = WorkspaceCache(store.credentials)
        self.applications = SignupCreator(
            store.signups,
            self.checkout,
            self.mail,
            limiter=self.limiter,
            clock=clock,
            mode=mode,
            web_url=self.WEB,
        )
        self.settlement = SignupPayments(
            store.signups,
            self.checkout,
            store.accounts,
            self.mail,
            limiter=self.limiter,
            clock=clock,
            web_url=self.WEB,
        )
        self.welcome = PaymentPage(store.signups, store.key_requests, workspaces, clock)
        self.approvals = Approvals(store.key_requests, store.members, workspaces, clock)
        self.passwords = Argon2Passwords(Argon2Settings(url="", memory_kib=8, rounds=1))
        self.sign_in = SignIn(store.accounts, store.sessions, self.passwords, self.limiter, clock)
        self.admission = RequestAuthenticator(
            KeyAuthenticator(store.credentials, clock),
            getattr(store, "oauth_grants", None),
            store.signups,
            workspaces,
            clock,
        )

    async def found(self, name="Example Shop", **more):
        return await create_workspace_with_keys(self.store.credentials, self.clock(), name=name, **more)

    async def person(self, workspace, role, email=None):
        """A member with an account."""
        account = Account(
            new_id(), email or f"{role.value}@{workspace.public_id.lower()}.example", None, self.clock()
        )
        await self.store.accounts.save_account(account)
        member = Member(workspace.id, account.id, role, self.clock())
        assert await self.store.members.save_member(member)
        return member

    async def sign_up(self, email="ann@example.com", client="203.0.113.7", **more):
        return await self.applications.create_signup(SignupInput(email=email, **more), client)

    async def pay(self, applied):
        return await self.settlement.receive_webhook(
            self.checkout.confirm_payment(applied.signup.id, self.clock())
        )


@asynccontextmanager
async def opened(url, folder):
    found = load_plugins([("workspace_sql", workspace_sql)], discover=False)
    store = found.open_adapter("workspace", url, folder=folder)
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()


@pytest.fixture
async def store(store_url, tmp_path):
    if store_url is None:
        yield MemoryAccess()
        return
    async with opened(store_url, tmp_path) as store:
        yield store


@pytest.fixture
def house(store, clock):
    return House(store, clock)


@pytest.fixture
async def houses(workspace_url, tmp_path, clock):
    """Two deployments on one database, as two processes would be; they share nothing else."""
    async with opened(workspace_url, tmp_path) as one, opened(workspace_url, tmp_path) as other:
        checkout = SandboxCheckoutAdapter()
        yield House(one, clock, checkout=checkout), House(other, clock, checkout=checkout)


@pytest.fixture
def another(store, clock):
    """Another house over the same store."""
    return partial(House, store, clock)
