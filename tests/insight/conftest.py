"""A caller in New York on a Wednesday, and a queue that tells how far behind it is."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from service_core.access.model import Caller, Credential, CredentialKind, Workspace
from service_core.intake.ports import QueueState
from service_core.kernel.operations import Scope
from tests.insight.served import STORES, serving

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
WORKSPACE = UUID(int=1)


class Queue:
    """The state of an ingest queue; the rest of the port is not asked by reads."""

    oldest = None

    async def state(self):
        return QueueState(waiting=int(self.oldest is not None), oldest_received_at=self.oldest)


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture
def who():
    workspace = Workspace(
        id=WORKSPACE,
        public_id="k3Jx9QmZ2aPr",
        name="Example Shop",
        domain="example.com",
        timezone="America/New_York",
        currency="USD",
        plan="growth",
        active=True,
        created_at=NOW,
        secret=b"secret",
    )
    credential = Credential(
        id=UUID(int=2),
        workspace_id=WORKSPACE,
        kind=CredentialKind.AGENT,
        name="Agent key",
        scopes=frozenset({Scope.READ}),
        rate_limit=100,
        hint="…x9Qd",
        created_at=NOW,
    )
    return Caller(workspace, credential, NOW)


@pytest.fixture(params=list(STORES))
async def served(request, tmp_path):
    """A whole deployment, on the reference and on the embedded engine."""
    async with serving(request.param, tmp_path) as served:
        yield served
