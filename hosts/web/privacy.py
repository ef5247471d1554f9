"""Settings: the age of events, everything about one person, and the erasure of a person. For owners."""

import json
from dataclasses import replace
from typing import Final

from quart import Response, request

from hosts.data_import.file_search import build_personal_import_files
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from service_core.access.analytics_settings import validate_analytics_settings
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import Permission
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.kernel.errors import ApiError, BadRequest, NotFound
from service_core.privacy.access_request import AccessRequests
from service_core.privacy.find_person import FoundPerson, find_person_with_events
from service_core.privacy.models import Erasure, request_erasure

MAX_SHOWN_IDS: Final = 50


async def show_privacy(context: PageContext, public_id: str) -> Response:
    """The age of events, the person that was searched for, and the erasures."""
    workspace, member = await context.require_workspace(public_id, Permission.OWN)
    return await _privacy_page(context, workspace, member, _person_id())


async def save_event_retention(context: PageContext, public_id: str) -> Response:
    """Set the age at which events are deleted."""
    workspace, member = await context.require_workspace(public_id, Permission.OWN)
    text = context.form.text("days").strip()
    days = context.form.integer("days") or (-1 if text else None)
    try:
        rules = validate_analytics_settings(replace(workspace.rules, event_retention_days=days))
    except BadRequest as refusal:
        return await _privacy_page(context, workspace, member, "", refusal)
    await context.store.workspace_settings.replace_workspace_keeping_triggers(replace(workspace, rules=rules))
    return context.redirect_to(f"/w/{public_id}/privacy", done="saved")


async def download_personal_data(context: PageContext, public_id: str) -> Response:
    """Everything about one person, as a JSON file."""
    workspace, _ = await context.require_workspace(public_id, Permission.OWN)
    ports = context.service.ports
    requests = ports.build_from_adapters(AccessRequests, import_files=build_personal_import_files(ports))
    found = await requests.collect(workspace, _person_id(), context.clock())
    return _json_file(context, found, "person.json")


async def erase_person(context: PageContext, public_id: str) -> Response:
    """Request the erasure of a person."""
    workspace, member = await context.require_workspace(public_id, Permission.OWN)
    person_id = replace_nul_and_surrogates(context.form.text("person")).strip()
    if not person_id:
        raise BadRequest("Enter a user ID, visitor ID or e-mail address", "invalid_parameter", field="person")
    if replace_nul_and_surrogates(context.form.text("confirmation")).strip() != person_id:
        refusal = BadRequest(
            "The IDs don't match. Type the ID again to confirm the erasure",
            "invalid_parameter",
            field="confirmation",
        )
        return await _privacy_page(context, workspace, member, person_id, refusal)
    erasure = request_erasure(workspace.id, person_id, context.signed_in_account.email, context.clock())
    await context.store.erasures.save_erasure(erasure)
    return context.redirect_to(f"/w/{public_id}/privacy", done="erasing")


async def download_certificate(context: PageContext, public_id: str, erasure_id: str) -> Response:
    """The certificate of a completed erasure, as a JSON file."""
    workspace, _ = await context.require_workspace(public_id, Permission.OWN)
    wanted = parse_id_or_raise_not_found(erasure_id)
    for erasure in await context.store.erasures.list_erasures(workspace.id):
        if erasure.id == wanted and erasure.certificate is not None:
            return _json_file(context, erasure.certificate, f"erasure-{erasure.id}.json")
    raise NotFound


def _person_id() -> str:
    return replace_nul_and_surrogates(request.args.get("person", "")).strip()


def _json_file(context: PageContext, content: object, name: str) -> Response:
    answer = context.json_response(json.dumps(content, indent=2, ensure_ascii=False))
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


async def _privacy_page(
    context: PageContext,
    workspace: Workspace,
    member: Member,
    person_id: str,
    refusal: ApiError | None = None,
) -> Response:
    found: FoundPerson | None = None
    if person_id:
        found = await find_person_with_events(context.service.ports.events, workspace, person_id)
    erasures: list[Erasure] = await context.store.erasures.list_erasures(workspace.id)
    return await context.render_page(
        "privacy.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        person_id=person_id,
        found=found,
        ids=sorted(found.subject.ids)[:MAX_SHOWN_IDS] if found else [],
        erasures=erasures,
    )


PAGES: Final = (
    Page("GET /w/<public_id>/privacy", show_privacy),
    Page("POST /w/<public_id>/privacy", erase_person),
    Page("POST /w/<public_id>/privacy/retention", save_event_retention),
    Page("GET /w/<public_id>/privacy/person", download_personal_data),
    Page("GET /w/<public_id>/privacy/erasures/<erasure_id>", download_certificate),
)
