"""A deployment with a program that a person connected."""

import pytest

from tests.mcp.mcp_client import connect_client
from tests.workspace.conftest import workspace_api as workspace_api


@pytest.fixture
async def mcp_client(workspace_api):
    """Everything an owner may grant."""
    return await connect_client(workspace_api.service, workspace_api.workspaces["shop"], workspace_api.now)
