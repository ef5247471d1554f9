"""What was changed in a workspace, by whom, and taking it back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from quart import Response, request

from hosts.web.audit_sessions import group_by_session
from hosts.web.labels import ACTION_LABELS, REVERSIBILITY_LABELS
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import open_workspace_view
from service_core.access.models import Caller, RequestInterface, Workspace
from service_core.changes.audit_log import AuditEntry
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.models import Action
from service_core.changes.operations import list_audit
from service_core.changes.outside_effects import classify_reversibility
from service_core.changes.schemas import AuditQuery
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.operations import Scope

MAX_ENTRIES: Final = 30
_MAX_CLIENT_ID_LENGTH: Final = 2_000

INTERFACE_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {"dashboard": "Web application", "api": "API", "mcp": "Assistants (MCP)"}
)
"""Interface of a change -> what the filter calls it."""

RESOURCE_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "report": "Reports",
        "dashboard": "Dashboards",
        "analysis": "Analyses",
        "segment": "Segments",
        "annotation": "Annotations",
        "email_report": "Scheduled e-mails",
        "alert": "Alerts",
        "webhook": "Webhooks",
        "tracking_link": "Tracking links",
        "conversion_rule": "Conversion rules",
        "share_link": "Public links",
        "container_script_proposal": "Scripts",
        "link_domain": "Link domains",
        "identity_link": "Identity merges",
        "event_history": "Stored events",
        "workspace": "Workspace settings",
        "connection": "Connections",
    }
)
"""Resource type -> what the filter calls it; types of plugins are added under their own name."""

_PAGES_OF_RESOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "report": "/w/{workspace}/reports/{id}",
        "dashboard": "/w/{workspace}/dashboards/{id}",
        "analysis": "/w/{workspace}/analyses/{id}",
        "annotation": "/w/{workspace}/annotations/{id}",
        "email_report": "/w/{workspace}/email-reports/{id}",
        "alert": "/w/{workspace}/alerts/{id}",
        "webhook": "/w/{workspace}/webhooks/{id}",
        "tracking_link": "/w/{workspace}/links/{id}",
        "conversion_rule": "/w/{workspace}/rules/{id}",
        "share_link": "/w/{workspace}/shared",
        "container_script_proposal": "/container/proposals/{id}",
        "link_domain": "/w/{workspace}/domains",
        "workspace": "/w/{workspace}/settings/general",
        "connection": "/w/{workspace}/settings/connections",
    }
)
"""Resource type -> its page below the application's address."""


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """What the list is narrowed to; empty texts match all.

    Attributes:
        resource_type: of the changed object.
        actor_id: of a person or key.
        since: a local day.
        client_id: of a connected app.
        created_via: the interface.
    """

    resource_type: str = ""
    actor_id: str = ""
    since: str = ""
    client_id: str = ""
    created_via: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        """Those that are set, as parameters of the page and of `GET /audit`."""
        return {name: value for name, value in asdict(self).items() if value}

    def link(self, **changes: str) -> str:
        """The query string of the page with other filters; empty texts remove one."""
        chosen = {name: value for name, value in (self.parameters | changes).items() if value}
        return f"?{urlencode(chosen)}"


def read_audit_filters(args: Mapping[str, str], known_types: Mapping[str, Any]) -> AuditFilters:
    """The filters of an address; what is no type, id or day counts as not said."""
    resource_type = args.get("resource_type", "")
    return AuditFilters(
        resource_type if resource_type in known_types else "",
        _text_if_parsed_by(UUID, args.get("actor_id", "")),
        _text_if_parsed_by(date.fromisoformat, args.get("since", "")),
        args.get("client_id", "")[:_MAX_CLIENT_ID_LENGTH].replace("\0", ""),
        _text_if_parsed_by(RequestInterface, args.get("created_via", "")),
    )


def _text_if_parsed_by(parse: Any, text: str) -> str:
    try:
        parse(text)
    except ValueError:
        return ""
    return text


async def list_audit_entries(context: PageContext, public_id: str) -> Response:
    """Applied writes, newest first; each that can be undone has a button for it."""
    view = await open_workspace_view(context, public_id)
    caller, change_executor = view.caller, context.component(ChangeExecutor)
    types = {**RESOURCE_LABELS, **_labels_of_other_types(change_executor)}
    filters = read_audit_filters(request.args, types)
    query = AuditQuery.model_validate(
        {"limit": MAX_ENTRIES, "cursor": request.args.get("cursor"), **filters.parameters}
    )
    try:
        page = await list_audit.handler(query, caller=caller, executor=change_executor)
    except BadRequest:
        raise NotFound from None
    return await view.render(
        "audit.html",
        actions=ACTION_LABELS,
        sessions=[
            (
                session,
                [
                    (
                        entry,
                        _may_undo(entry, caller, change_executor),
                        _page_of_resource(entry, view.workspace),
                        _reversibility_label(entry, change_executor),
                    )
                    for entry in session.entries
                ],
            )
            for session in group_by_session(page.entries)
        ],
        may_roll_back=view.may(Scope.WRITE_REPORTS),
        interfaces={"": "Anything", **INTERFACE_LABELS},
        following=filters.link(cursor=page.next_cursor) if page.next_cursor else None,
        filters=filters,
        actor_name=next(
            (entry.actor.name for entry in page.entries if str(entry.actor.id) == filters.actor_id),
            "somebody",
        ),
        program_name=next(
            (
                session.program
                for session in group_by_session(page.entries)
                if session.actor.client_id == filters.client_id
            ),
            "an app",
        ),
        types={"": "Everything", **types},
    )


def _labels_of_other_types(change_executor: ChangeExecutor) -> dict[str, str]:
    return {
        name: name.replace("_", " ").capitalize()
        for name in change_executor.resource_types
        if name not in RESOURCE_LABELS
    }


def _page_of_resource(entry: AuditEntry, workspace: Workspace) -> str | None:
    """Path of the page that shows the changed object; None if it was deleted or has none."""
    path = _PAGES_OF_RESOURCES.get(entry.resource.type)
    if path is None or entry.action is Action.DELETE:
        return None
    return path.format(workspace=workspace.public_id, id=entry.resource.id)


def _reversibility_label(entry: AuditEntry, change_executor: ChangeExecutor) -> str:
    """Returns how far a change can be taken back, as a sentence; nothing for a type without a plugin."""
    resource_type = change_executor.resource_types.get(entry.resource.type)
    if resource_type is None:
        return ""
    return REVERSIBILITY_LABELS[classify_reversibility(entry.diff, resource_type)]


def _may_undo(entry: AuditEntry, caller: Caller, change_executor: ChangeExecutor) -> bool:
    kind = change_executor.resource_types.get(entry.resource.type)
    return entry.undoable and kind is not None and kind.scope in caller.credential.scopes


PAGES: Final = (Page("GET /w/<public_id>/audit", list_audit_entries),)
