"""Each database passes the kit of workspace stores."""

import pytest

from service_core.testing.workspace_store import WorkspaceStoreConformance


class TestStores(WorkspaceStoreConformance):
    @pytest.fixture
    def open_store(self, open_directory):
        return open_directory
