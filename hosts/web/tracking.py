"""Settings: the script for web pages, which pages may send, and what was received that could not be used."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from quart import Response

from hosts.web.labels import IGNORED_VALUE_LABELS, REJECTION_LABELS, TRANSFORM_LABELS
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.ingestion.cors import parse_and_validate_origins
from service_core.kernel.errors import ApiError, Unprocessable

_LEDGER_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class ReceivedCounts:
    """What the workspace received in the last days.

    Attributes:
        counts: the totals of `GET /ledger`.
        rejected: how many events were refused, by reason in words; most first.
        ignored: how many stored events have a part that cannot be used, likewise.
    """

    counts: dict[str, Any]
    rejected: list[tuple[str, int]]
    ignored: list[tuple[str, int]]


async def show_tracking(context: PageContext, public_id: str) -> Response:
    """What to put on a page, and the origins that may send."""
    return await _tracking_page(await open_workspace_view(context, public_id))


async def save_allowed_origins(context: PageContext, public_id: str) -> Response:
    """Change the origins."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    try:
        origins = parse_and_validate_origins(context.form.text("origins"))
    except Unprocessable as refusal:
        return await _tracking_page(view, refusal)
    await context.store.workspace_settings.replace_workspace_keeping_triggers(
        replace(view.workspace, allowed_origins=origins)
    )
    return context.redirect_to(f"/w/{public_id}/tracking", done="saved")


async def _tracking_page(view: WorkspaceView, refusal: ApiError | None = None) -> Response:
    context = view.context
    http = context.service.settings.http
    received = await _load_received_counts_of_last_days(view)
    return await view.render(
        "tracking.html",
        refusal=refusal,
        ingest=http.effective_ingest_url,
        is_public=bool(http.ingest_url),
        received=received,
        ledger_days=_LEDGER_DAYS,
        origins=context.form.text("origins") if refusal else "\n".join(view.workspace.allowed_origins),
        manages=Permission.MANAGE in ROLE_PERMISSIONS[view.member.role],
    )


async def _load_received_counts_of_last_days(view: WorkspaceView) -> ReceivedCounts | None:
    """Returns the totals of the ledger of the last days; None if it cannot be read now."""
    today = view.caller.now.astimezone(view.workspace.zone).date()
    read = await view.get(
        "/ledger",
        start_date=(today - timedelta(days=_LEDGER_DAYS - 1)).isoformat(),
        end_date=today.isoformat(),
    )
    if not read.ok:
        return None
    totals = read.body["totals"]
    return ReceivedCounts(
        totals,
        _most_first_in_words(totals["rejected_by_reason"], REJECTION_LABELS),
        _most_first_in_words(totals["ignored_by_reason"], IGNORED_VALUE_LABELS),
    )


def _most_first_in_words(counts: Mapping[str, int], labels: Mapping[str, str]) -> list[tuple[str, int]]:
    """Returns label and count of each reason, the highest count first; a reason without a label keeps its id."""
    named = [
        (labels.get(reason) or _label_of_transform_reason(reason), count) for reason, count in counts.items()
    ]
    return sorted(named, key=lambda entry: (-entry[1], entry[0]))


def _label_of_transform_reason(reason: str) -> str:
    """Returns the label of a reason that names a transform; other reasons as they are."""
    for prefix, label in TRANSFORM_LABELS.items():
        if reason.startswith(prefix):
            return f"{label} {reason.removeprefix(prefix).replace(':', ': ')}"
    return reason


PAGES: Final = (
    Page("GET /w/<public_id>/tracking", show_tracking),
    Page("POST /w/<public_id>/tracking", save_allowed_origins),
)
