"""Something of every kind in two workspaces, so that one can be asked for what the other owns."""

from dataclasses import replace
from itertools import count

from service_core.access.write_policy import ApprovalRule, ProgramKind, WritePolicy
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.kernel.operations import Scope
from service_core.testing.event_builder import EventBuilder
from tests.workspace.link_domains import DomainOwner

LINK = {"name": "Spring", "destination_url": "https://example.com/a", "slug": "spring"}
RULE = {"name": "Sale", "trigger_event": "purchase", "platform": "meta", "platform_event": "Purchase"}
SCRIPT = {"name": "Chat", "type": "inline", "content": "1"}
REPORT = {"name": "Visitors", "source": "catalog", "metric_id": "visitors", "chart": "number"}
RECEIPT = {
    "plan": {"metrics": ["events"], "date_range": {"from": "2026-07-01", "to": "2026-07-08"}},
    "metric": "events",
}
EXPORT = {"type": "events", "start_date": "2026-07-01", "end_date": "2026-07-02"}

PATCH_BODIES = {
    "POST /imports/{importId}/start": {"dry_run": True},
    "POST /imports/{importId}/remove": {"dry_run": True},
    "POST /change-sets/{changeSetId}/apply": {"plan_token": "A" * 43},
    "POST /audit/rollback": {
        "actor": {"key_id": "0197f0c2-0000-7000-8000-000000000000"},
        "since": "2026-07-01",
        "dry_run": True,
    },
    "PATCH /connections/{connectionId}": {"connection": {"paused": True}},
    "PATCH /links/{linkId}": {"link": {"name": "New"}},
    "PATCH /rules/{ruleId}": {"rule": {"name": "New"}},
    "PATCH /reports/{reportId}": {"report": {"name": "New"}},
    "PATCH /dashboards/{dashboardId}": {"dashboard": {"name": "New"}},
    "PATCH /segments/{segmentId}": {"segment": {"name": "New"}},
    "POST /email-reports/{emailReportId}/test": {"to": "ann@example.com"},
    "PATCH /email-reports/{emailReportId}": {"email_report": {"name": "New"}},
    "PATCH /share-links/{shareLinkId}": {"share_link": {"show_workspace_name": True}},
    "PATCH /alerts/{alertId}": {"alert": {"name": "New"}},
    "PATCH /webhooks/{webhookId}": {"webhook": {"name": "New"}},
    "PATCH /annotations/{annotationId}": {"annotation": {"text": "New"}},
    "PATCH /analyses/{analysisId}": {"analysis": {"title": "New"}},
    "POST /dashboards/{dashboardId}/reorder": {"report_ids": []},
}
"""What a route needs beside the id."""


def layout_with(report):
    return {"v": 1, "cards": [{"report_id": report}]}


def share_link_body(what, object_id):
    return {"share_link": {"object_type": what, "object_id": object_id}}


ALERT = {"name": "Visitors", "metric_id": "visitors", "recipients": ["ann@example.com"]}
WEBHOOK = {"name": "Orders", "url": "https://hooks.example.com/", "event_names": ["purchase"]}


def email_report_body(object_id):
    given = {"name": "Weekly", "object_type": "report", "recipients": ["ann@example.com"]}
    return {"email_report": given | {"object_id": object_id}}


BODY_IDS = {
    "POST /links": ("domainId", lambda one: {"link": LINK | {"slug": None, "domain_id": one}}),
    "POST /dashboards": ("reportId", lambda one: {"dashboard": {"name": "D", "layout": layout_with(one)}}),
    "PATCH /dashboards": ("reportId", lambda one: {"dashboard": {"layout": layout_with(one)}}),
    "POST /analyses": (
        "reportId",
        lambda one: {"analysis": {"title": "A", "body_md": "So.", "report_ids": [one]}},
    ),
    "POST /share-links report": ("reportId", lambda one: share_link_body("report", one)),
    "POST /share-links dashboard": ("dashboardId", lambda one: share_link_body("dashboard", one)),
    "POST /share-links analysis": ("analysisId", lambda one: share_link_body("analysis", one)),
}
"""Ids in the bodies of writes."""


class ResourceFactory:
    """Something of every kind in both workspaces, and something deleted."""

    def __init__(self, workspace_api):
        self.office = workspace_api
        self.made = {}
        self.number = count()

    async def id(self, name, key, *, deleted=False):
        """An id of a kind, by the name the paths give it."""
        if (name, key, deleted) not in self.made:
            made = await CREATORS[name](self, key, deleted)
            self.made[name, key, deleted] = made
        return self.made[name, key, deleted]

    async def write(self, path, field, key, deleted, **fields):
        made = await self.office.ask("POST", path, {field: fields}, key=key)
        assert made.status == 200, made.json
        found = made.json["data"]["id"]
        if deleted:
            assert (await self.office.ask("DELETE", f"{path}/{found}", key=key)).status == 200
        return found

    async def link(self, key, deleted):
        slug = {"slug": f"spring-{next(self.number)}"}
        return await self.write("/links", "link", key, deleted, **LINK | slug)

    async def connection(self, key, deleted):
        """Of one provider a workspace has one connection: a deleted one is of another provider."""
        provider = "superwall" if deleted else "stripe"
        known = (await self.office.ask("GET", "/connections", key=key)).json["connections"]
        for found in known:
            if found["provider"] == provider:
                return found["id"]
        credentials = {"webhook_secret": "whsec_planted"}
        return await self.write(
            "/connections", "connection", key, deleted, provider=provider, credentials=credentials
        )

    async def domain(self, key, deleted):
        domain_owner, host = DomainOwner(self.office, key), f"go{next(self.number)}.example.com"
        made = await domain_owner.own(host)
        if deleted:
            await domain_owner.remove(host)
        return made

    async def rule(self, key, deleted):
        asset = ConnectedAccount("act_1", "Main", (Asset("1234", "Pixel"),))
        workspace, now = self.office.workspaces[key], self.office.now
        made = Connection(
            workspace.id,
            "meta",
            ProviderKind.ADS,
            ConnectionStatus.CONNECTED,
            now,
            (asset,),
            last_synced_at=now,
        )
        await self.office.service.ports.workspace.connections.save_connection_keeping_created_at(made)
        event = {"trigger_event": f"purchase_{next(self.number)}"}
        return await self.write("/rules", "rule", key, deleted, **RULE | event)

    async def proposal(self, key, deleted):
        made = await self.office.ask("POST", "/scripts/proposals", {"proposal": SCRIPT}, key=key)
        return made.json["data"]["id"]

    async def report(self, key, deleted):
        return await self.write("/reports", "report", key, deleted, **REPORT)

    async def dashboard(self, key, deleted):
        return await self.write("/dashboards", "dashboard", key, deleted, name="Weekly")

    async def analysis(self, key, deleted):
        return await self.write("/analyses", "analysis", key, deleted, title="Why", body_md="So.")

    async def segment(self, key, deleted):
        filters = [{"dimension": "device_type", "value": "mobile"}]
        return await self.write("/segments", "segment", key, deleted, name="Mobile", filters=filters)

    async def annotation(self, key, deleted):
        return await self.write("/annotations", "annotation", key, deleted, text="Sale", date="2026-07-01")

    async def email_report(self, key, deleted):
        fields = email_report_body(await self.id("reportId", key))["email_report"]
        return await self.write("/email-reports", "email_report", key, deleted, **fields)

    async def alert(self, key, deleted):
        return await self.write("/alerts", "alert", key, deleted, **ALERT)

    async def webhook(self, key, deleted):
        return await self.write("/webhooks", "webhook", key, deleted, **WEBHOOK)

    async def share_link(self, key, deleted):
        body = share_link_body("report", await self.id("reportId", key))
        made = await self.office.ask("POST", "/share-links", body, key=key)
        return made.json["data"]["id"]

    async def entry(self, key, deleted):
        dashboard = await self.dashboard(key, False)
        made = await self.office.ask("DELETE", f"/dashboards/{dashboard}", key=key)
        return made.json["audit_id"]

    async def change_set(self, key, deleted):
        annotation = {"text": "Sale", "date": "2026-07-01"}
        changes = [{"method": "POST", "path": "/annotations", "body": {"annotation": annotation}}]
        planned = (await self.office.ask("POST", "/change-sets", {"changes": changes}, key=key)).json
        body, path = {"plan_token": planned["plan_token"]}, f"/change-sets/{planned['id']}/apply"
        assert (await self.office.ask("POST", path, body, key=key)).status == 200
        return planned["id"]

    async def approval(self, key, deleted):
        """A write that waits, of a workspace that demands approvals for a moment."""
        store = self.office.service.ports.workspace.workspace_settings
        workspace = self.office.workspaces[key.split()[0]]
        rule = ApprovalRule(ProgramKind.KEY, Scope.WRITE_REPORTS)
        await store.replace_workspace_keeping_triggers(replace(workspace, write_policy=WritePolicy((rule,))))
        waiting = await self.office.ask("POST", "/reports", {"report": REPORT}, key=key)
        await store.replace_workspace_keeping_triggers(workspace)
        assert waiting.status == 202, waiting.json
        return waiting.json["id"]

    async def export(self, key, deleted):
        return (await self.office.ask("POST", "/exports", EXPORT, key=key)).json["id"]

    async def receipt(self, key, deleted):
        return (await self.office.ask("POST", "/receipts", RECEIPT, key=key)).json["id"]

    async def import_job(self, key, deleted):
        return (await self.office.ask("POST", "/imports", {"format": "csv"}, key=key)).json["id"]

    async def request(self, key, deleted):
        wanted = {"name": "Bot", "scopes": ["service:read"]}
        return (await self.office.ask("POST", "/keys/requests", wanted, key=key)).json["request_id"]

    async def user(self, key, deleted):
        story = EventBuilder(self.office.workspaces[key].id)
        story.add_event("page_view", at="2026-07-08T10:00", visitor=f"visitor-of-{key}")
        await self.office.service.ports.events.append(story.events)
        return f"visitor-of-{key}"


CREATORS = {
    "connectionId": ResourceFactory.connection,
    "linkId": ResourceFactory.link,
    "domainId": ResourceFactory.domain,
    "ruleId": ResourceFactory.rule,
    "proposalId": ResourceFactory.proposal,
    "reportId": ResourceFactory.report,
    "dashboardId": ResourceFactory.dashboard,
    "analysisId": ResourceFactory.analysis,
    "segmentId": ResourceFactory.segment,
    "annotationId": ResourceFactory.annotation,
    "alertId": ResourceFactory.alert,
    "webhookId": ResourceFactory.webhook,
    "emailReportId": ResourceFactory.email_report,
    "shareLinkId": ResourceFactory.share_link,
    "auditId": ResourceFactory.entry,
    "changeSetId": ResourceFactory.change_set,
    "approvalId": ResourceFactory.approval,
    "exportId": ResourceFactory.export,
    "importId": ResourceFactory.import_job,
    "receiptId": ResourceFactory.receipt,
    "requestId": ResourceFactory.request,
    "userId": ResourceFactory.user,
}
"""Id in a path -> how one comes to be."""

NEVER_DELETED = {
    "proposalId", "shareLinkId", "auditId", "changeSetId", "approvalId", "exportId", "importId", "requestId", "userId", "receiptId",
}  # fmt: skip
"""Nothing deletes these; revoked share links stay."""
