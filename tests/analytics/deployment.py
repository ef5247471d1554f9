"""A complete deployment for tests, with clients that send requests and read JSON."""

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID, uuid4

import orjson

from hosts.composition.compose import compose, load_installed_registry_once
from service_core.access.analytics_settings import AnalyticsSettings
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.models import Workspace
from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import Scope
from service_core.kernel.settings import (
    AttributionSettings,
    FxSettings,
    IngestSettings,
    Settings,
    StorageSettings,
)
from service_core.testing.event_builder import EventBuilder

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
DEFAULT_RULES = AnalyticsSettings()
HIGH_RATE_LIMIT = 1_000_000
STORES = {"memory": "memory://", "duckdb": "duckdb:///events.db?threads=1&timeout_seconds=300"}


@asynccontextmanager
async def run_deployment(store: str, folder: Path, registry=None, rates=""):
    """A deployment on one of `STORES`, or on the store of a URL, in a folder of its own; ``rates`` is the URL of their source."""
    settings = Settings(
        storage=StorageSettings(events=STORES.get(store, store), workspace="sqlite:///workspace.db"),
        ingest=IngestSettings(queue="spool:///spool.db"),
        attribution=AttributionSettings(min_model_conversions=1),
        fx=FxSettings(rates=rates),
    )
    served = Deployment()
    async with compose(
        settings, folder, registry=registry or load_installed_registry_once(), clock=lambda: served.now
    ) as service:
        served.service = service
        yield served


class Deployment:
    """A running deployment; ``now`` is the time of its clock."""

    now = NOW

    async def workspace(
        self, id_: UUID | None = None, *, rules: AnalyticsSettings = DEFAULT_RULES, **fields
    ) -> "WorkspaceClient":
        """Creates a workspace; returns a client with a key of it."""
        directory = self.service.ports.workspace
        plain = {
            "name": "Example Shop", "timezone": "America/New_York", "currency": "USD", "domain": None,
            "public_id": uuid4().hex[:12],
        }  # fmt: skip
        owner = Workspace(
            id=id_ or uuid4(), plan="unlimited", active=True, created_at=NOW, secret=b"secret", rules=rules,
            **plain | fields,
        )  # fmt: skip
        await directory.credentials.create_workspace(owner)
        scopes = (Scope.READ, Scope.WRITE_REPORTS)
        minted = await create_named_key_clamping_rate_limit_to_plan(
            directory.credentials,
            owner,
            NOW,
            name="Reader",
            scopes=scopes,
            requested_rate_limit=HIGH_RATE_LIMIT,
        )
        return WorkspaceClient(self.service, owner, minted.secret)


class WorkspaceClient:
    """A client with a key of a workspace."""

    def __init__(self, service, workspace, key):
        self.service, self.workspace, self.key = service, workspace, key
        self.story = EventBuilder(workspace.id)

    async def knows(self, *events):
        """Appends the events to the store, by default those of `story`."""
        await self.service.ports.events.append(events or self.story.events)

    async def follows(self, rules):
        """Replaces the analytics settings of the workspace."""
        await self.changes(rules=rules)

    async def changes(self, **fields):
        """Changes fields of the workspace."""
        self.workspace = replace(self.workspace, **fields)
        await self.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
            self.workspace
        )

    async def get(self, path, **parameters):
        return self._answered(await self.ask("GET", path, urlencode(parameters)))

    async def post(self, path, body):
        return self._answered(await self.ask("POST", path, body=orjson.dumps(body)))

    async def refused(self, method, path, body=None, **parameters):
        """Returns status and error code of a request."""
        sent = b"" if body is None else orjson.dumps(body)
        status, answer = await self.ask(method, path, urlencode(parameters), sent)
        return status, answer.get("code")

    async def ask(self, method, path, query="", body=b""):
        request = ApiRequest(method, f"/v1{path}", query, {"authorization": f"Bearer {self.key}"}, body)
        response = await self.service.dispatch(request)
        return response.status, orjson.loads(response.body)

    def _answered(self, answer):
        status, body = answer
        assert status == HTTPStatus.OK, body
        return body
