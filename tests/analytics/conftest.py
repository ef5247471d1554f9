"""A caller in New York on a Wednesday, and a stub of the queue state."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from service_core.access.models import Caller, Credential, CredentialKind, Workspace
from service_core.kernel.operations import Scope
from tests.analytics.deployment import STORES, run_deployment
from tests.fixtures.stub_queues import StubIngestQueue

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
WORKSPACE = UUID(int=1)


@pytest.fixture
def queue():
    return StubIngestQueue()


@pytest.fixture
def caller():
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
    async with run_deployment(request.param, tmp_path) as served:
        yield served
