"""F4, F5, F15: every single call of a write on its store fails once; a write is whole or was never, and once."""

import pytest

from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.compose import load_installed_registry_once
from service_core.analytics.ports import StoreUnavailable
from service_core.testing.fault_injection import FaultInjector, with_faults
from tests.workspace.conftest import WorkspaceApi
from tests.workspace.resource_fixtures import EXPORT, LINK, PATCH_BODIES, REPORT, ResourceFactory

MORE_THAN_ANY = 40
"""Calls on the store that no write needs."""


class FailingWritesClient(ResourceFactory):
    """Programs that write while the workspace store fails as told."""

    def __init__(self, workspace_api, faults):
        super().__init__(workspace_api)
        self.faults = faults

    async def state(self, path):
        """Entries of the audit log, and what the list a write belongs to shows."""
        collection = path.split("/")[1].replace("audit", "dashboards")  # the undone entry is of one
        entries = (await self.office.ask("GET", "/audit?limit=100")).json["entries"]
        return {entry["id"] for entry in entries}, (await self.office.ask("GET", f"/{collection}")).bytes

    async def prepared(self, route):
        """Method, path and body of a write that will be applied."""
        method, path = route.split(" ")
        if route == "POST /exports":
            return method, path, EXPORT
        if route == "POST /links":
            return method, path, {"link": LINK | {"slug": f"s-{next(self.number)}"}}
        if route == "POST /reports":
            return method, path, {"report": REPORT}
        name = path.partition("{")[2].partition("}")[0]
        made = await self.id(name, "shop")
        self.made.clear()
        return method, path.replace(f"{{{name}}}", made), PATCH_BODIES.get(route)


@pytest.fixture
async def failing_writes(tmp_path):
    faults = FaultInjector()
    faults.error = StoreUnavailable
    registry = wrap_adapters(
        load_installed_registry_once(),
        lambda port, adapter: with_faults(adapter, faults) if port == "workspace" else adapter,
    )
    workspace_api = WorkspaceApi(tmp_path, registry=registry)
    async with workspace_api.service:
        yield FailingWritesClient(await workspace_api.open(), faults)


async def write_with_fault(failing_writes, route, number, *, after):
    """Whether the ``number``-th call failed; what must hold is looked at on the way."""
    method, path, body = await failing_writes.prepared(route)
    before = await failing_writes.state(path)
    once = f"{number} {after}"
    failing_writes.faults.fail_at_call(number, fail_after_effect=after)
    first = await failing_writes.office.ask(method, path, body, once=once)
    struck, last = failing_writes.faults.has_failed, failing_writes.faults.calls[-1]
    failing_writes.faults.stop_faults()
    result = await failing_writes.state(path)
    if struck:
        assert (first.status, first.json["code"]) == (503, "data_unverified"), last
        assert result == before or (after and last in {"write/commit", "add_export_or_find_retried"}), last
    else:
        assert (first.status in {200, 202}, result != before) == (True, True), first.json
    again = await failing_writes.office.ask(method, path, body, once=once)
    settled = await failing_writes.state(path)
    assert (settled == result) == (result != before), last
    assert len(settled[0] - before[0]) == (route != "POST /exports"), last
    if method == "POST":
        assert again.status == first.status or struck
        assert again.headers.get("Idempotent-Replay") == ("true" if result != before else None), last
    return struck


FEW = ("POST /links", "PATCH /links/{linkId}", "POST /audit/{auditId}/undo", "POST /exports")
MANY = (
    *FEW, "POST /reports", "DELETE /links/{linkId}", "PATCH /rules/{ruleId}", "DELETE /rules/{ruleId}",
    "PATCH /dashboards/{dashboardId}", "DELETE /analyses/{analysisId}",
)  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_write_with_a_failing_nth_call_is_atomic_and_retried_once(failing_writes, after, is_full_run):
    for route in MANY if is_full_run else FEW:
        calls = 0
        for number in range(1, MORE_THAN_ANY):
            if not await write_with_fault(failing_writes, route, number, after=after):
                break
            calls += 1
        assert 0 < calls < MORE_THAN_ANY - 1, route
