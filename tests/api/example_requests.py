"""One request for every operation, run in order against a composed deployment with a week of events.

``python -m tests.api.example_requests`` writes what was sent and answered to ``service_core/api/examples.json``,
which the OpenAPI document shows.
"""

import asyncio
import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from service_core.access.api_keys import create_write_or_agent_key
from service_core.access.models import CredentialKind
from service_core.api.examples import EXAMPLES_FILE
from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import RoutePrefix, Scope
from service_core.testing.event_builder import EventBuilder
from tests.mcp.mcp_client import grant_access_token
from tests.workspace.conftest import WorkspaceApi
from tests.workspace.rule_requests import MAIN, connect_platform
from tests.workspace.saved.conftest import add_visits

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
RANGE = {"from": "2026-07-01", "to": "2026-07-07"}
INTERNAL_TOKEN = "planted-internal-token-of-24"
COSTS = {"currency": "USD", "effective_from": "2026-07-01", "rows": [{"sku": "SHIRT", "unit_cost": 8.5}]}
ROOT = Path(__file__).parents[2]
FIRST_ERROR = 400
HAND_WRITTEN: dict[str, dict[str, Any]] = {
    "download_export": {
        "path": {"exportId": "01980c0e-7f5e-7b1a-8d3c-5a3f0e6b9c21"},
        "query": {"expires": "1783526400", "sig": "3f0c…"},
        "status": 200,
        "answer": "timestamp,event_name,visitor_id\r\n2026-07-01T10:00:00.000Z,page_view,ann\r\n",
    },
    "start_import": {
        "path": {"importId": "01980c0e-7f5e-7b1a-8d3c-5a3f0e6b9c21"},
        "body": {"dry_run": False},
        "status": 202,
        "answer": {
            "id": "01980c0e-7f5e-7b1a-8d3c-5a3f0e6b9c21",
            "status": "queued",
            "format": "csv",
            "file_name": "sign-ups.csv",
            "site": None,
            "columns": {"customer": "user_id"},
            "created_at": "2026-07-08T15:00:00.000Z",
            "started_at": None,
            "completed_at": None,
            "byte_count": 112,
            "read_bytes": 0,
            "entry_count": 0,
            "accepted": 0,
            "duplicates": 0,
            "left_out": {},
            "received_now": 0,
            "error": None,
            "preview": {
                "is_export": False,
                "columns": [
                    {"column": "event", "field": "event"},
                    {"column": "customer", "field": "user_id"},
                ],
                "unused": [],
                "events": [{"event": "signup", "user_id": "u1"}],
                "counts": {"queued": 1},
            },
            "upload": None,
            "source": None,
            "days": [],
            "removed_events": 0,
        },
    },
    "receive_payment_notice": {
        "body": {"id": "notice-1", "type": "paid"},
        "status": 200,
        "answer": {"received": True},
    },
}
"""Of operations that need a signature or a background job: a file by a signed address, and a signed message."""

MAX_ROWS = 2
"""Rows of a list that an example keeps."""

SECRETS = re.compile(r"\b(dk_agent_|dk_|dl_signup_|oat_)[A-Za-z0-9_-]{8,}")


@dataclass
class Step:
    """A request; texts like ``{report}`` name an id that an earlier answer gave.

    Attributes:
        keep: name -> path of an id in the answer, such as ``data.id``.
        is_recorded: whether it becomes an example; False for one that prepares another.
    """

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    keep: dict[str, str] = field(default_factory=dict)
    is_recorded: bool = True


def read(path, **query):
    return Step("GET", path, query)


def write(method, path, body=None, **keep):
    return Step(method, path, body=body, keep=keep)


READS = (
    read("/health"), read("/ready"), read("/openapi.json"),
    read("/v1/overview", **WEEK), read("/v1/traffic", **WEEK, type="referrer"),
    read("/v1/devices", **WEEK, type="browser"), read("/v1/locations", **WEEK, type="country"),
    read("/v1/realtime"), read("/v1/tags", **WEEK), read("/v1/events", **WEEK, limit=2),
    read("/v1/events/properties", **WEEK), read("/v1/event-names", **WEEK),
    read("/v1/users", **WEEK, limit=2), read("/v1/users/{user}"), read("/v1/retention", **WEEK),
    read("/v1/ltv", **WEEK), read("/v1/funnel", **WEEK, steps=["page_view", "purchase"]),
    read("/v1/funnel/persons", **WEEK, steps=["page_view", "purchase"], step=2, outcome="dropped", limit=2),
    read("/v1/paths", **WEEK, start="/", steps=2, top=3),
    read("/v1/paths/sessions", **WEEK, start="/", steps=2, step=1, group="ended", limit=2),
    read("/v1/experiments", **WEEK), read("/v1/experiments/results", **WEEK, experiment="checkout"),
    read("/v1/attribution", **WEEK), read("/v1/attribution/journeys", **WEEK, channel="direct", limit=1), read("/v1/ads", **WEEK), read("/v1/revenue", **WEEK),
    read("/v1/commerce-metrics", start_date="2026-07-01T00:00:00Z", end_date="2026-07-07T00:00:00Z"),
    read("/v1/subscriptions", **WEEK), read("/v1/metrics/catalog"),
    read("/v1/dimension-values", **WEEK, dimension="country"), read("/v1/search", q="de"),
    read("/v1/context"), read("/v1/workspace"), read("/v1/workspace/settings"), read("/v1/usage"), read("/v1/onboarding"),
    read("/v1/docs/search", q="attribution"), read("/v1/ledger", **WEEK),
    write("POST", "/v1/metrics", {"metrics": ["visitors", "sessions"], **WEEK}),
    write("POST", "/v1/query", {"metrics": ["visitors"], "dimensions": ["country"], "date_range": RANGE}),
    write("POST", "/v1/explain-change", {"metric": "visitors", "dimensions": ["country"], "date_range": RANGE}),
    write("POST", "/v1/receipts", {"plan": {"metrics": ["visitors"], "dimensions": ["country"], "date_range": RANGE},
          "metric": "visitors", "key": {"country": "(not set)"}}, receipt="id"),
    read("/v1/receipts/{receipt}"), read("/v1/receipts/{receipt}/records", limit=2),
)  # fmt: skip

WRITES = (
    write("POST", "/v1/rules", {"rule": {"name": "Purchase", "trigger_event": "purchase", "platform": "meta",
          "platform_event": "Purchase"}}, rule="data.id"),
    read("/v1/rules"), read("/v1/rules/deliveries", **WEEK),
    write("PATCH", "/v1/rules/{rule}", {"rule": {"name": "Purchases"}}),
    write("DELETE", "/v1/rules/{rule}", {"dry_run": True}),
    read("/v1/providers"),
    write("POST", "/v1/connections", {"connection": {"provider": "stripe", "credentials": {"webhook_secret": "whsec_example"},
          "accounts": [{"id": "acct_1"}]}}, connection="data.id"),
    read("/v1/connections"),
    write("PATCH", "/v1/connections/{connection}", {"connection": {"paused": True}}),
    write("POST", "/v1/connections/{connection}/test", {"dry_run": True}),
    write("DELETE", "/v1/connections/{connection}", {"dry_run": True}),
    write("PATCH", "/v1/workspace", {"workspace": {"conversions": ["purchase", "webinar"]}, "dry_run": True}),
    write("POST", "/v1/links", {"link": {"name": "Summer", "destination_url": "https://shop.example/summer"}}, link="data.id"),
    read("/v1/links"),
    write("PATCH", "/v1/links/{link}", {"link": {"name": "Summer sale"}}),
    write("DELETE", "/v1/links/{link}", {"dry_run": True}),
    write("POST", "/v1/reports", {"report": {"name": "Visitors", "source": "catalog", "metric_id": "visitors",
          "chart": "number", "default_range": RANGE}}, report="data.id"),
    read("/v1/reports"), read("/v1/reports/{report}"),
    write("PATCH", "/v1/reports/{report}", {"report": {"name": "Visitors of the week"}}, audit="audit_id"),
    write("POST", "/v1/reports/{report}/run", {"date_range": RANGE}),
    write("POST", "/v1/dashboards", {"dashboard": {"name": "Weekly", "date_range": RANGE,
          "layout": {"v": 1, "cards": [{"report_id": "{report}"}]}}}, dashboard="data.id"),
    read("/v1/dashboards"), read("/v1/dashboards/{dashboard}"),
    write("PATCH", "/v1/dashboards/{dashboard}", {"dashboard": {"name": "Every week"}}),
    write("POST", "/v1/dashboards/{dashboard}/reorder", {"report_ids": ["{report}"]}),
    write("POST", "/v1/dashboards/{dashboard}/run", {"overrides": {"row_limit": 10}}),
    write("POST", "/v1/analyses", {"analysis": {"title": "July", "body_md": "Visits grew."}}, analysis="data.id"),
    read("/v1/analyses"), read("/v1/analyses/{analysis}"),
    write("PATCH", "/v1/analyses/{analysis}", {"analysis": {"title": "Early July"}}),
    write("POST", "/v1/segments", {"segment": {"name": "Mobile", "filters": [{"dimension": "device_type", "value": "mobile"}]}},
          segment="data.id"),
    read("/v1/segments"), read("/v1/segments/{segment}"),
    write("PATCH", "/v1/segments/{segment}", {"segment": {"name": "On the phone"}}),
    write("DELETE", "/v1/segments/{segment}", {"dry_run": True}),
    write("POST", "/v1/annotations", {"annotation": {"text": "Spring sale starts", "date": "2026-07-03", "time": "09:00"}},
          annotation="data.id"),
    read("/v1/annotations", start_date="2026-07-01", end_date="2026-07-31"), read("/v1/annotations/{annotation}"),
    write("PATCH", "/v1/annotations/{annotation}", {"annotation": {"time": None}}),
    write("DELETE", "/v1/annotations/{annotation}", {"dry_run": True}),
    write("POST", "/v1/email-reports", {"email_report": {"name": "Weekly numbers", "object_type": "report", "object_id": "{report}",
          "recipients": ["bob@example.com"]}}, email_report="data.id"),
    read("/v1/email-reports"), read("/v1/email-reports/{email_report}"), read("/v1/email-reports/{email_report}/deliveries"),
    write("PATCH", "/v1/email-reports/{email_report}", {"email_report": {"hour": 9}}),
    write("POST", "/v1/email-reports/{email_report}/test", {"to": "ann@example.com"}),
    write("DELETE", "/v1/email-reports/{email_report}", {"dry_run": True}),
    write("POST", "/v1/share-links", {"share_link": {"object_type": "report", "object_id": "{report}",
          "allowed_ranges": ["last_7_days", "last_30_days"], "embed_hosts": ["blog.example.com"]}}, share="data.id"),
    write("POST", "/v1/alerts", {"alert": {"name": "Few visitors", "metric_id": "visitors", "condition": "below", "value": 10,
          "recipients": ["bob@example.com"], "webhook_url": "https://hooks.example.com/touchpoint"}}, alert="data.id"),
    read("/v1/alerts"), read("/v1/alerts/{alert}"), read("/v1/alerts/{alert}/deliveries"),
    write("PATCH", "/v1/alerts/{alert}", {"alert": {"condition": "unusual"}}),
    write("POST", "/v1/alerts/{alert}/webhook-secret", {"dry_run": True}),
    write("DELETE", "/v1/alerts/{alert}", {"dry_run": True}),
    write("POST", "/v1/webhooks", {"webhook": {"name": "Orders to the warehouse", "url": "https://hooks.example.com/orders",
          "event_names": ["purchase"]}}, webhook="data.id"),
    read("/v1/webhooks"), read("/v1/webhooks/{webhook}"), read("/v1/webhooks/{webhook}/deliveries"),
    write("PATCH", "/v1/webhooks/{webhook}", {"webhook": {"event_names": ["purchase", "lead"]}}),
    write("POST", "/v1/webhooks/{webhook}/secret", {"dry_run": True}),
    write("POST", "/v1/webhooks/{webhook}/test", {"dry_run": True}),
    write("DELETE", "/v1/webhooks/{webhook}", {"dry_run": True}),
    read("/v1/share-links"),
    write("PATCH", "/v1/share-links/{share}", {"share_link": {"embed_hosts": None}}),
    write("DELETE", "/v1/share-links/{share}", {"dry_run": True}),
    write("POST", "/v1/audit/{audit}/undo", {"dry_run": True}),
    write("POST", "/v1/change-sets", {"changes": [{"method": "POST", "path": "/annotations",
          "body": {"annotation": {"text": "New prices", "date": "2026-07-04"}}}], "note": "Marks of July"}, change_set="id", plan_token="plan_token"),
    write("POST", "/v1/change-sets/{change_set}/apply", {"plan_token": "{plan_token}"}),
    write("POST", "/v1/change-sets/{change_set}/undo", {"dry_run": True}),
    write("POST", "/v1/audit/rollback", {"actor": {"key_id": "0197f0c2-0000-7000-8000-000000000000"}, "since": "2026-07-08",
          "dry_run": True}),
    write("DELETE", "/v1/analyses/{analysis}", {"dry_run": True}),
    write("DELETE", "/v1/dashboards/{dashboard}", {"dry_run": True}),
    write("DELETE", "/v1/reports/{report}", {"dry_run": True}),
    read("/v1/audit"),
    write("POST", "/v1/scripts/proposals", {"proposal": {"name": "Chat", "type": "inline", "content": "start();"}},
          proposal="data.id"),
    read("/v1/scripts/proposals"), read("/v1/scripts/proposals/{proposal}"),
    write("POST", "/v1/exports", {"type": "events", **WEEK}, export="id"),
    read("/v1/exports"), read("/v1/exports/{export}"),
    write("POST", "/v1/imports", {"format": "csv", "file_name": "sign-ups.csv", "columns": {"customer": "user_id"}}, file="id"),
    read("/v1/imports"), read("/v1/imports/{file}"),
    write("POST", "/v1/imports/{file}/cancel"),
    write("POST", "/v1/imports/{file}/remove", {"dry_run": True}),
    write("POST", "/v1/keys/requests", {"name": "Helper", "scopes": ["service:read"]}, request="request_id"),
    read("/v1/keys/requests/{request}"),
    write("POST", "/v1/shopify/economics/cost-imports/validate", COSTS, hash="import_hash"),
    write("POST", "/v1/shopify/economics/cost-imports/apply", {**COSTS, "import_hash": "{hash}"}),
)  # fmt: skip

LOOKUP_KEY = {"x-service-api-key": "{write_key}"}
WAITING = (
    Step("PATCH", "/v1/workspace", body={"workspace": {"write_approvals": [{"credential": "key", "scope": "service:write:links"}]}}, is_recorded=False),
    Step("POST", "/v1/links", body={"link": {"name": "Autumn", "destination_url": "https://shop.example/autumn"}}, keep={"approval": "id"}, is_recorded=False),
    read("/v1/approvals/{approval}"),
)  # fmt: skip

ACCESS = (
    Step("POST", "/attribution/lookup", body={"email": "ann@example.com"}, headers=LOOKUP_KEY),
    Step("POST", "/attribution/deferred-lookup", body={"platform": "ios", "lyr": "summer"}, headers=LOOKUP_KEY),
    Step("POST", "/v1/keys", body={"name": "Read key", "scopes": ["service:read"]}, headers={"authorization": "Bearer {token}"}),
    write("POST", "/v1/signup", {"email": "bob@example.com", "workspace_name": "Bob's shop"}, signup="signup_id", secret="signup_secret"),
    Step("GET", "/v1/signup/{signup}", headers={"authorization": "Bearer {secret}"}),
)  # fmt: skip


class ExampleRecorder:
    """Sends the steps and keeps what was sent and answered.

    Args:
        api: a deployment with events of a shop.
        tokens: what else a step may send: ``write_key`` and ``token``.
    """

    def __init__(self, api: WorkspaceApi, tokens: dict[str, str]) -> None:
        self._api = api
        self._names: dict[str, str] = dict(tokens)
        self.examples: dict[str, dict[str, Any]] = {}
        self._ids = {
            (op.method, ("/v1" if op.prefix is RoutePrefix.V1 else "") + op.path): op.id
            for op in api.service.registry.operations
        }

    async def record(self, step: Step) -> None:
        """Sends a step; its answer has to be a success."""
        self._api.later(minutes=1)  # a new minute has its whole budget
        path, body = step.path.format(**self._names), self._fill(step.body)
        template = self._api.service.route_template(step.method, path)
        headers = {"authorization": f"Bearer {self._api.keys['shop']}", "x-internal-token": INTERNAL_TOKEN}
        headers |= {name: value.format(**self._names) for name, value in step.headers.items()}
        content = b"" if body is None else json.dumps(body).encode()
        response = await self._api.service.dispatch(
            ApiRequest(step.method, path, urlencode(step.query, doseq=True), headers, content)
        )
        answer = json.loads(response.body)
        assert response.status < FIRST_ERROR, (step, answer)
        for name, place in step.keep.items():
            value = answer
            for part in place.split("."):
                value = value[part]
            self._names[name] = value
        if not step.is_recorded:
            return
        sent = {"path": path_values(template, path), "query": step.query, "body": body}
        recorded = {name: value for name, value in sent.items() if value not in (None, {})}
        recorded |= {
            "status": response.status,
            "answer": {} if template == "/openapi.json" else shorten(answer),
        }
        self.examples[self._ids[step.method, template]] = json.loads(
            SECRETS.sub(r"\1…", json.dumps(recorded))
        )

    def _fill(self, body: Any) -> Any:
        """Returns a body with the ids of earlier answers."""
        text = json.dumps(body)
        for name, value in self._names.items():
            text = text.replace(f'"{{{name}}}"', json.dumps(value))
        return json.loads(text)


def path_values(template: str, path: str) -> dict[str, str]:
    """Returns the path parameters of a request."""
    pairs = zip(template.split("/"), path.split("/"), strict=True)
    return {name[1:-1]: value for name, value in pairs if name.startswith("{")}


def shorten(answer: Any) -> Any:
    """Returns an answer with the first rows of each list."""
    if isinstance(answer, dict):
        return {name: shorten(value) for name, value in answer.items()}
    return [shorten(value) for value in answer[:MAX_ROWS]] if isinstance(answer, list) else answer


async def record_examples(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the example of each operation, by operation id."""
    api = WorkspaceApi(folder, http={"internal_token": INTERNAL_TOKEN})
    async with api.service:
        await api.open()
        shop = api.workspaces["shop"]
        story = EventBuilder(shop.id)
        add_visits(story)
        await api.service.ports.events.append(story.events)
        credentials = api.service.ports.workspace.credentials
        write_key = await create_write_or_agent_key(credentials, shop, CredentialKind.WRITE, api.now)
        token = await grant_access_token(api.service.ports.workspace, shop, api.now, scopes=set(Scope))
        recorder = ExampleRecorder(api, {"write_key": write_key.secret, "token": token, "user": "ann"})
        for step in READS:
            await recorder.record(step)
        await connect_platform(api, "meta", MAIN)
        for step in (*WRITES, *ACCESS, *WAITING):
            await recorder.record(step)
    return dict(sorted((HAND_WRITTEN | recorder.examples).items()))


def main() -> None:
    """Writes the examples."""
    with tempfile.TemporaryDirectory() as folder:
        examples = asyncio.run(record_examples(Path(folder)))
    text = json.dumps(examples, indent=1, ensure_ascii=False) + "\n"
    (ROOT / "service_core" / "api" / EXAMPLES_FILE).write_text(text)


if __name__ == "__main__":
    main()
