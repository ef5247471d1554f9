"""Whoever reads totals only can neither save nor publish a number by a custom property."""

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.operations import Scope
from tests.workspace.conftest import NOW
from tests.workspace.test_change_sets import REPORT

BY_EMAIL = {"dimension": "property:email", "op": "eq", "value": "ann@example.com"}
BY_COUNTRY = {"dimension": "country", "op": "eq", "value": "DE"}
PLAN = {"metrics": ["visitors"]}


def segment(condition):
    return {"segment": {"name": "Ann", "filters": [condition]}}


def dashboard(condition):
    return {"dashboard": {"name": "Weekly", "filters": [condition]}}


@pytest.fixture
async def totals_api(workspace_api):
    """The workspace with a key ``totals`` that reads totals and writes reports."""
    minted = await create_named_key_clamping_rate_limit_to_plan(
        workspace_api.service.ports.workspace.credentials,
        workspace_api.workspaces["shop"],
        NOW,
        name="Totals",
        scopes={Scope.READ_AGGREGATES, Scope.WRITE_REPORTS},
    )
    workspace_api.keys["totals"] = minted.secret
    return workspace_api


async def refusal(api, method, path, body, key="totals"):
    answer = await api.ask(method, path, body, key=key)
    return answer.status, answer.json.get("required_scope")


@pytest.mark.parametrize(("path", "body"), [("/segments", segment), ("/dashboards", dashboard)])
@pytest.mark.parametrize("dry_run", [True, False])
async def test_filter_by_a_property_is_not_saved(totals_api, path, body, dry_run):
    sent = {**body(BY_EMAIL), "dry_run": dry_run}
    assert await refusal(totals_api, "POST", path, sent) == (403, "service:read")
    assert await refusal(totals_api, "POST", path, body(BY_COUNTRY)) == (200, None)
    assert (await totals_api.ask("POST", path, body(BY_EMAIL))).status == 200


async def test_what_refers_to_a_property_is_not_published(totals_api):
    saved = (await totals_api.ask("POST", "/segments", segment(BY_EMAIL))).json["data"]["id"]
    plan = {**PLAN, "segment_id": saved}
    report = {"report": {"name": "Ann", "source": "query", "plan": plan}}
    made = await totals_api.ask("POST", "/reports", report)
    assert made.status == 200, made.json
    assert await refusal(totals_api, "POST", "/reports", report) == (403, "service:read")
    cards = {"v": 1, "cards": [{"report_id": made.json["data"]["id"]}]}
    board = (await totals_api.ask("POST", "/dashboards", {"dashboard": {"name": "B", "layout": cards}})).json
    for kind, id_ in (("report", made.json["data"]["id"]), ("dashboard", board["data"]["id"])):
        share = {"share_link": {"object_type": kind, "object_id": id_}}
        assert await refusal(totals_api, "POST", "/share-links", share) == (403, "service:read"), kind
    plain = (await totals_api.ask("POST", "/reports", REPORT)).json["data"]["id"]
    share = {"share_link": {"object_type": "report", "object_id": plain}}
    assert await refusal(totals_api, "POST", "/share-links", share) == (200, None)
