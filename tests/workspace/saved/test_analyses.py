"""Analyses: Markdown that embeds reports."""

from uuid import UUID

import pytest

from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.share_links.run_shared_object import run_shared_object
from tests.workspace.saved.conftest import WEEK

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
PLAN = {"metrics": ["visitors"]}


def embed_markdown(*reports):
    return "# Findings\n\n" + "\n\n".join(f"::report[{report['id']}]" for report in reports) + "\n"


async def create_analysis(api_client, *reports, **fields):
    listed = [report["id"] for report in reports]
    return await api_client.save(
        "analysis", **{"title": "July", "body_md": embed_markdown(*reports), "report_ids": listed, **fields}
    )


async def test_analysis_is_returned_completely(api_client):
    made = await api_client.save("analysis", title="July", body_md="Text", plans=[PLAN])
    assert made == {
        "id": made["id"], "workspace_id": made["workspace_id"], "title": "July", "body_md": "Text",
        "plans": [PLAN], "report_ids": [], "date_range": None, "created_via": "api",
        "created_at": made["created_at"], "updated_at": made["updated_at"], "created_by": made["created_by"],
        "deleted_at": None,
    }  # fmt: skip
    assert (await api_client.ask("GET", f"/analyses/{made['id']}")).json == made
    assert (await api_client.ask("GET", "/analyses")).json == {"analyses": [made], "next_cursor": None}
    (entry,) = (await api_client.ask("GET", "/audit")).json["entries"]
    assert entry["resource"] == {"type": "analysis", "id": made["id"], "label": "July"}


async def test_embedded_report_is_listed(api_client):
    report, other = await api_client.chart(), await api_client.plan()
    made = await create_analysis(api_client, report, report_ids=[report["id"], other["id"]])
    assert made["report_ids"] == [report["id"], other["id"]]
    wrong = [
        (embed_markdown(report), []),
        (embed_markdown(report, other), [report["id"]]),
        ("::report[nonsense]", [report["id"]]),
        (f"Text\r\n::report[{report['id']}]  \r\n", [other["id"]]),
    ]
    for body_md, listed in wrong:
        body = {"analysis": {"title": "T", "body_md": body_md, "report_ids": listed}}
        refused = await api_client.refused("POST", "/analyses", body)
        assert refused == (422, "report_not_listed", "analysis.report_ids", True), body_md
    for body_md in (f"See ::report[{UNKNOWN_ID}]", f" ::report[{UNKNOWN_ID}]", f"`::report[{UNKNOWN_ID}]`"):
        await api_client.save("analysis", title="T", body_md=body_md)
    refused = await api_client.refused("PATCH", f"/analyses/{made['id']}", {"analysis": {"report_ids": None}})
    assert refused[:2] == (422, "report_not_listed")
    refused = await api_client.refused(
        "PATCH", f"/analyses/{made['id']}", {"analysis": {"body_md": f"::report[{UNKNOWN_ID}]"}}
    )
    assert refused[:2] == (422, "report_not_listed")


async def test_embedded_reports_must_exist_in_the_workspace(api_client):
    theirs, gone = await api_client.plan(key="other"), await api_client.plan()
    await api_client.ask("DELETE", f"/reports/{gone['id']}")
    for report_id in (theirs["id"], gone["id"], UNKNOWN_ID):
        body = {"analysis": {"title": "T", "body_md": "x", "report_ids": [report_id]}}
        assert await api_client.refused("POST", "/analyses", body) == (
            422, "unknown_report", "analysis.report_ids[0]", True,
        )  # fmt: skip


LIMITS = [
    ({"title": ""}, "invalid_field", "title"),
    ({"title": "x" * 201}, "invalid_field", "title"),
    ({"body_md": " "}, "invalid_field", "body_md"),
    ({"body_md": "x" * 100_001}, "invalid_field", "body_md"),
    ({"plans": [PLAN] * 21}, "invalid_plan", "plans"),
    ({"plans": [PLAN, {"metrics": ["visitors"], "interval": "x"}]}, "invalid_plan", "plans[1].interval"),
    ({"plans": [PLAN, {"metrics": ["visitorz"]}]}, "unknown_metric", "plans[1].metrics[0]"),
    ({"plans": [PLAN, PLAN | {"cursor": "x"}]}, "invalid_plan", "plans[1].cursor"),
    ({"report_ids": [UNKNOWN_ID] * 51}, "invalid_field", "report_ids"),
]


async def test_analyses_have_limits(api_client):
    for fields, code, field in LIMITS:
        refused = await api_client.refused(
            "POST", "/analyses", {"analysis": {"title": "T", "body_md": "x", **fields}}
        )
        assert refused[:3] == (422, code, f"analysis.{field}"), fields
    whole = {"title": "x" * 200, "body_md": "x" * 100_000, "plans": [PLAN] * 20}
    await api_client.save("analysis", **whole)
    malformed = [
        (
            {"plans": [PLAN | {"workspace_id": "x"}]},
            "workspace_id_not_allowed",
            "analysis.plans[0].workspace_id",
        ),
        ({"plans": [{}]}, "missing_field", "analysis.plans[0].metrics"),
        ({"date_range": {"preset": "x"}}, "invalid_date_range", "analysis.date_range"),
        ({"name": "x"}, "unknown_field", "analysis.name"),
        ({"report_ids": ["x"]}, "invalid_parameter", "analysis.report_ids[0]"),
    ]
    for fields, code, field in malformed:
        refused = await api_client.refused(
            "POST", "/analyses", {"analysis": {"title": "T", "body_md": "x", **fields}}
        )
        assert refused[:3] == (400, code, field), fields


async def test_patch_validates_its_fields_and_can_be_undone(api_client):
    report = await api_client.chart()
    made = await create_analysis(api_client, report)
    target = f"/analyses/{made['id']}"
    await api_client.ask("DELETE", f"/reports/{report['id']}")
    changed = (
        await api_client.ask("PATCH", target, {"analysis": {"title": "August", "date_range": WEEK}})
    ).json
    assert [change["field"] for change in changed["diff"]["changes"]] == [
        "date_range.from", "date_range.to", "title",
    ]  # fmt: skip
    undone = (await api_client.ask("POST", f"/audit/{changed['audit_id']}/undo")).json["data"]
    assert undone == made | {"updated_at": undone["updated_at"]}
    stale = {"analysis": {"title": "x", "expected_updated_at": made["updated_at"]}}
    late = await api_client.ask("PATCH", target, stale)
    assert (late.refusal[1], late.json["current_updated_at"]) == ("stale_update", undone["updated_at"])


async def test_deleted_analysis_is_restored_by_undo(api_client):
    made = await api_client.save("analysis", title="T", body_md="x")
    target = f"/analyses/{made['id']}"
    gone = (await api_client.ask("DELETE", target, {"dry_run": False})).json
    for method, body in (("GET", None), ("PATCH", {"analysis": {}}), ("DELETE", None)):
        theirs = await api_client.ask(method, target, body, key="other")
        mine = await api_client.ask(method, target, body)
        assert (mine.status, mine.bytes) == (404, theirs.bytes)
    assert (await api_client.ask("GET", "/analyses")).json["analyses"] == []
    await api_client.ask("POST", f"/audit/{gone['audit_id']}/undo")
    assert (await api_client.ask("GET", target)).json["title"] == "T"


@pytest.fixture
def run_shared(api_client):
    """Runs an object of the shop as a public page does."""

    async def run(kind, made):
        service = api_client.service
        return await run_shared_object(
            api_client.workspaces["shop"], api_client.now, kind, UUID(made["id"]),
            transactions=service.ports.workspace.transactions, runner=service.component(ReportBatchRunner),
        )  # fmt: skip

    return run


async def test_analysis_runs_each_embedded_report_once_over_its_range(api_client, run_shared):
    chart, plan, unused = (
        await api_client.chart(default_range={"preset": "today"}),
        await api_client.plan(),
        await api_client.plan(),
    )
    body = embed_markdown(chart, plan, chart).upper().replace("::REPORT", "::report")
    made = await create_analysis(api_client, chart, plan, unused, body_md=body, date_range=WEEK)
    ran = await run_shared("analysis", made)
    assert [str(embed.report_id) for embed in ran.embeds] == [chart["id"], plan["id"]]
    assert ran.embeds[0].result.data.metric.value == 4
    assert ran.partial is False
    await api_client.ask("DELETE", f"/reports/{plan['id']}")
    assert [embed.status for embed in (await run_shared("analysis", made)).embeds] == ["ok", "missing"]


async def test_shared_reports_and_dashboards_run_until_deleted(api_client, run_shared):
    chart = await api_client.chart()
    board = await api_client.board(chart)
    assert (await run_shared("report", chart)).data.metric.value == 4
    assert (await run_shared("dashboard", board)).cards[0].result.data.metric.value == 4
    for path, kind, made in (("reports", "report", chart), ("dashboards", "dashboard", board)):
        await api_client.ask("DELETE", f"/{path}/{made['id']}")
        assert await run_shared(kind, made) is None
    assert await run_shared("analysis", board) is None
