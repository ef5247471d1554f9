"""The first steps of a workspace: the script, the first event as soon as it is stored, and what is left to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from quart import Response, render_template

from hosts.web.api_client import ApiResult
from hosts.web.navigation import WORKSPACE_ROUTE_PREFIX
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.value_labels import label_event_name
from hosts.web.value_words import format_moment, person_name, person_path
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.access.models import Workspace
from service_core.workspace.onboarding import SetupStep


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of ``GET /onboarding``.

    Attributes:
        sentence: how the API names the step while it is outstanding.
        label: how the page names it.
        path: of the page below the workspace that does it.
        docs_path: of the documentation, where that page does not exist.
    """

    sentence: SetupStep
    label: str
    path: str
    docs_path: str


STEPS: Final = (
    _Step(
        SetupStep.INSTALL_TRACKING,
        "Add the script to your site, or send an event from your server",
        "/tracking",
        "consumers/quickstart",
    ),
    _Step(SetupStep.IDENTIFY_USERS, "Identify your users", "/identify", "consumers/tracking-script"),
    _Step(SetupStep.CONNECT_ADS, "Connect an ad platform", "/settings/connections", "deployers/connections"),
    _Step(
        SetupStep.CONNECT_REVENUE,
        "Connect a revenue provider",
        "/settings/connections",
        "deployers/revenue-providers",
    ),
    _Step(SetupStep.CREATE_RULE, "Create a conversion rule", "/rules", "consumers/rules"),
    _Step(SetupStep.CREATE_LINK, "Create a tracking link", "/links", "consumers/links"),
)
"""Every step, in the order to take them."""


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """A step as the page shows it: what it is, whether it is done, and the page that does it or explains how."""

    label: str
    is_done: bool
    url: str


@dataclass(frozen=True, slots=True)
class FirstEvent:
    """What of the first event shows that it arrived, in words.

    Attributes:
        name: of the event.
        moment: in the zone of the workspace.
        page: path of its page, if it has one.
        person: who sent it; empty if the event itself cannot be read now.
        person_path: of the page of the person below the workspace.
    """

    name: str
    moment: str
    page: str | None = None
    person: str = ""
    person_path: str = ""


async def show_start(context: PageContext, public_id: str) -> Response:
    """The script, the first event or that the page waits for it, and the checklist."""
    view = await open_workspace_view(context, public_id)
    http = context.service.settings.http
    onboarding = await view.get("/onboarding")
    return await view.render(
        "start.html",
        ingest=http.effective_ingest_url,
        is_public=bool(http.ingest_url),
        steps=_build_checklist(context, view.workspace, onboarding.data),
        **await _first_event_values(view, onboarding),
    )


async def show_first_event(context: PageContext, public_id: str) -> Response:
    """The card of the first event alone, for the script of the page."""
    view = await open_workspace_view(context, public_id)
    onboarding = await view.get("/onboarding")
    body = await render_template(
        "first_event.html",
        base=context.base,
        workspace=view.workspace,
        **await _first_event_values(view, onboarding),
    )
    status = onboarding.problem.status if onboarding.problem else HTTPStatus.OK
    return Response(body, status, uncached_page_headers(), mimetype="text/html")


async def _first_event_values(view: WorkspaceView, onboarding: ApiResult) -> dict[str, Any]:
    """Returns the first event as ``first``, and as ``problem`` why nobody can tell whether there is one."""
    if onboarding.problem is not None:
        return {"first": None, "problem": onboarding.problem}
    seen_at = onboarding.data["tracking"]["first_event_seen_at"]
    return {"first": await _load_first_event(view, seen_at) if seen_at else None, "problem": None}


async def _load_first_event(view: WorkspaceView, seen_at: str) -> FirstEvent:
    """Returns the event of that millisecond; its time only while it cannot be read."""
    moment = format_moment(seen_at, view.caller.workspace.zone)
    read = await view.get("/events", start_date=seen_at, end_date=seen_at, limit="1")
    row = next(iter(read.data.get("events", ())), None)
    if row is None:
        return FirstEvent("An event", moment)
    return FirstEvent(
        label_event_name(row["event_name"]), moment, row.get("page_path"), person_name(row), person_path(row)
    )


def _build_checklist(
    context: PageContext, workspace: Workspace, onboarding: Mapping[str, Any]
) -> list[ChecklistLine]:
    """Returns every step; none while the outstanding ones are not known."""
    if not onboarding:
        return []
    outstanding = frozenset(onboarding["next_steps"])
    docs = context.service.settings.http.docs_url.rstrip("/") or "/docs"
    return [
        ChecklistLine(
            step.label,
            is_done=step.sentence not in outstanding,
            url=f"{context.base}/w/{workspace.public_id}{step.path}"
            if f"{WORKSPACE_ROUTE_PREFIX}{step.path}" in context.routes
            else f"{docs}/{step.docs_path}",
        )
        for step in STEPS
    ]


PAGES: Final = (
    Page("GET /w/<public_id>/start", show_start),
    Page("GET /w/<public_id>/start/first-event", show_first_event),
)
