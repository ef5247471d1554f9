"""How the processes of pytest-xdist share the tests: each takes a file as a whole, so what its tests share is made once."""

import pytest

ONE_PROCESS = {"tests/e2e/": "one deployment", "_browser.py": "one browser", "tests/assistant/": "one shop"}
"""Files with this in their name share what takes seconds to start."""

LONG_TESTS = (
    "one browser",
    "one shop",
    "tests/conformance/test_duckdb.py",
    "tests/fault_injection/test_exports.py",
    "one deployment",
    "tests/fault_injection/test_redis_queue.py",
    "tests/contrib/test_deployments_start.py",
    "tests/hosts/store_copy/",
    "tests/hosts/roles/test_process_failures.py",
    "tests/analytics/query/test_invariants.py",
    "tests/plugins/test_jobs_rq.py",
    "tests/conformance/test_postgresql.py",
    "tests/fault_injection/test_slow_clients.py",
    "tests/plugins/events_sql/test_time_budgets.py",
    "tests/analytics/test_install_attribution.py",
    "tests/fault_injection/",
    "tests/contrib/",
    "tests/hosts/",
)
"""What begins first, so no process is left with it at the end. Much of it waits: so it stands between what computes."""


def scheduling_group(nodeid):
    """What is given to a process at one time."""
    file = nodeid.partition("::")[0]
    return next((name for part, name in ONE_PROCESS.items() if part in file), file)


def start_order(share):
    """When a share begins; the others follow in their order."""
    return next((place for place, name in enumerate(LONG_TESTS) if share.startswith(name)), len(LONG_TESTS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - not every run is shared

    class Shares(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scheduling_group(nodeid)

        def _assign_work_unit(self, node):
            self.workqueue.move_to_end(min(self.workqueue, key=start_order), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Shares(config, log)
