"""A directory that counts questions, and a clock that is moved by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from service_core.access.model import Identity


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

    def generation(self):
        return self.changes

    async def identify(self, digest):
        self.questions += 1
        credential = self.credentials.get(self.digests.get(digest))
        if credential is None or credential.revoked_at is not None:
            return None
        return Identity(credential, self.owners[credential.workspace_id])

    async def create_workspace(self, workspace):
        self.owners[workspace.id] = workspace
        self.changes += 1

    async def workspaces(self):
        return list(self.owners.values())

    async def save_key(self, credential, digest=None):
        self.credentials[credential.id] = credential
        if digest is not None:
            self.digests[digest] = credential.id
        self.changes += 1

    async def keys(self, workspace_id):
        return [c for c in self.credentials.values() if c.workspace_id == workspace_id]


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def directory():
    return CountingDirectory()
