"""A deployment with a program that a person connected."""

import pytest

from tests.mcp.program import connected
from tests.workspace.conftest import office as office


@pytest.fixture
async def program(office):
    """Everything an owner may grant."""
    return await connected(office.service, office.workspaces["shop"], office.now)
