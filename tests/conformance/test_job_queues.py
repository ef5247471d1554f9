"""Jobs of the serving process pass the kit of job queues."""

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.job_queue import JobQueueConformance


class TestInline(JobQueueConformance):
    @pytest.fixture
    def jobs(self, tmp_path):
        return collect_plugins_into_registry().open_adapter("jobs", "inline://", base_folder=tmp_path)
