"""Imports: upload a file, see what its columns become, start it, and follow it to its counts by reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.access.roles import Permission
from service_core.delivery.imports.models import ACCEPTED, FINAL_STATES, WORKER_STATES, ImportStatus
from service_core.ingestion.body_fields import BODY_FIELDS, OBJECT_FIELDS
from service_core.kernel.settings import Settings

FORMATS: Final[Mapping[str, str]] = {
    "access_log": "Access log of a web server (combined format, plain or .gz)",
    "csv": "Events as CSV",
    "ndjson": "Events as NDJSON",
    "parquet": "Events as Parquet",
}
STATUS_LABELS: Final[Mapping[str, str]] = {
    "waiting_for_file": "Waiting for the file",
    "checking": "Reading the file",
    "ready": "Ready to import",
    "queued": "Waiting to start",
    "running": "Importing",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
REASON_LABELS: Final[Mapping[str, str]] = {
    "queued": "Events",
    "asset": "Files such as images",
    "error": "Error responses",
    "feed": "Feeds and sitemaps",
    "method": "Requests other than GET",
    "malformed": "Unrecognized lines",
    "empty line": "Empty lines",
    "invalid_json": "Lines that aren't JSON objects",
    "no_event_name": "Rows without an event name",
    "no_identity": "Rows without any user or visitor ID",
}
"""Outcome of a line or row -> in words."""

PROBLEM_LABELS: Final[Mapping[str, str]] = {
    "payload_too_large": "The file is too large. Split it, or use touchpoint import on the server.",
    "wrong_import_status": "This import has its file already.",
    "invalid_signature": "The upload form has expired. Create a new import.",
    "invalid_field": "The file is empty.",
}
REFRESH_SECONDS: Final = 3
MAX_MAPPED_COLUMNS: Final = 100
_SINGLE_FIELDS: Final = tuple(name for name in BODY_FIELDS if name not in {*OBJECT_FIELDS, "event_name"})
_COMMON_FIELDS: Final = (
    *("properties.url", "properties.referrer", "properties.value", "properties.currency"),
    *("properties.order_id", "context.session_id", "context.userAgent"),
)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """A column of the file in the form of the mapping."""

    name: str
    chosen: str
    fields: tuple[str, ...]


async def list_imports(context: PageContext, public_id: str) -> Response:
    """Recent imports, and the form for a new one."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    return await _list_page(view)


async def create_import(context: PageContext, public_id: str) -> Response:
    """Create an import, and lead to the page that takes its file."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    kind = context.form.text("format")
    site = context.form.text("site")
    body = {"format": kind, "file_name": context.form.text("name")[:255]}
    result = await view.send("POST", "/imports", body | ({"site": site} if kind == "access_log" else {}))
    if not _is_accepted(result):
        return await _list_page(view, result, {"format": kind, "site": site})
    return context.redirect_to(f"{view.path}/imports/{result.body['id']}")


async def show_import(context: PageContext, public_id: str, import_id: str) -> Response:
    """One import in its state; while a worker has it, the page asks the browser to load it again."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    job = await view.get_or_not_found(f"/imports/{parse_id_or_raise_not_found(import_id)}")
    return await _import_page(view, job, PROBLEM_LABELS.get(request.args.get("problem", "")))


async def check_import_again(context: PageContext, public_id: str, import_id: str) -> Response:
    """Check the file with the mapping of the form."""
    columns = {
        column: field
        for column, field in zip(context.form.all("column"), context.form.all("field"), strict=False)
        if field
    }
    return await _start_and_lead_back(context, public_id, import_id, {"dry_run": True, "columns": columns})


async def start_import(context: PageContext, public_id: str, import_id: str) -> Response:
    """Bring the events in."""
    return await _start_and_lead_back(context, public_id, import_id, {"dry_run": False})


async def cancel_import(context: PageContext, public_id: str, import_id: str) -> Response:
    """Stop an import."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    path = f"/imports/{parse_id_or_raise_not_found(import_id)}"
    await view.get_or_not_found(path)
    await view.send("POST", f"{path}/cancel", {})
    return context.redirect_to(f"{view.path}{path}")


async def _start_and_lead_back(
    context: PageContext, public_id: str, import_id: str, body: Mapping[str, Any]
) -> Response:
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    path = f"/imports/{parse_id_or_raise_not_found(import_id)}"
    job = await view.get_or_not_found(path)
    result = await view.send("POST", f"{path}/start", body)
    if _is_accepted(result):
        return context.redirect_to(f"{view.path}{path}")
    return await _import_page(view, job, result.refusal_message, result.status)


async def _list_page(
    view: WorkspaceView, refused: ApiResult | None = None, values: Mapping[str, str] | None = None
) -> Response:
    jobs = (await view.get_or_fail("/imports", limit="50"))["imports"]
    return await view.render(
        "imports.html",
        refused.status if refused else 200,
        jobs=jobs,
        formats=FORMATS,
        statuses=STATUS_LABELS,
        refused=refused.refusal_message if refused else None,
        values=values or {"format": "access_log", "site": _suggest_site(view)},
    )


async def _import_page(
    view: WorkspaceView, job: Answer, problem: str | None = None, status: int = 200
) -> Response:
    in_progress = ImportStatus(job["status"]) in WORKER_STATES
    live = in_progress and request.args.get("updates") != "off"
    response = await view.render(
        "import.html",
        status,
        job=job,
        problem=problem,
        formats=FORMATS,
        statuses=STATUS_LABELS,
        upload_action=_upload_action(view, job),
        max_bytes=view.context.component(Settings).exports.max_import_bytes,
        percent=_percent(job),
        counts=label_counts(job),
        checked=[(REASON_LABELS.get(reason, reason), count) for reason, count in _checked_counts(job)],
        choices=_column_choices(job),
        in_progress=in_progress,
        live=live,
        is_final=ImportStatus(job["status"]) in FINAL_STATES,
    )
    if live:
        page = f"{view.context.base}{view.path}/imports/{job['id']}"
        response.headers["Refresh"] = f"{REFRESH_SECONDS}; url={page}"
    return response


def label_counts(job: Answer) -> list[tuple[str, int]]:
    """Returns the counts of an import in words: events, duplicates, then what was left out, the most frequent first."""
    left_out = sorted(job["left_out"].items(), key=lambda pair: -pair[1])
    return [
        ("Events imported", job["accepted"]),
        ("Duplicates of earlier events", job["duplicates"]),
        *(
            (REASON_LABELS.get(reason, reason.replace("_", " ").capitalize()), count)
            for reason, count in left_out
        ),
    ]


def _checked_counts(job: Answer) -> Sequence[tuple[str, int]]:
    counts = job["preview"]["counts"] if job["preview"] else {}
    return sorted(counts.items(), key=lambda pair: (pair[0] != ACCEPTED, pair[0]))


def _column_choices(job: Answer) -> list[ColumnChoice]:
    """Returns the columns of the file with the fields they can become; none for a log or an export of Touchpoint."""
    preview = job["preview"]
    if preview is None or preview["is_export"]:
        return []
    targets = [(one["column"], one["field"]) for one in preview["columns"]]
    unused = [(column, "") for column in preview["unused"]]
    return [
        ColumnChoice(column, field, _offered_fields(column, field))
        for column, field in (*targets, *unused)[:MAX_MAPPED_COLUMNS]
    ]


def _offered_fields(column: str, chosen: str) -> tuple[str, ...]:
    own = f"properties.{column.rpartition('.')[2]}"
    return tuple(dict.fromkeys((*([chosen] if chosen else []), own, *_SINGLE_FIELDS, *_COMMON_FIELDS)))


def _percent(job: Answer) -> int:
    """Returns how much of the file is imported, from 0 to 100."""
    size = job["byte_count"]
    return min(100, 100 * job["read_bytes"] // size) if size else 0


def _upload_action(view: WorkspaceView, job: Answer) -> str | None:
    """Returns where the form sends the file: the link of the API, below the application's own address."""
    if job["upload"] is None:
        return None
    link = urlsplit(job["upload"]["url"])
    return f"{view.context.base}/imports/upload/{job['id']}?{link.query}"


def _suggest_site(view: WorkspaceView) -> str:
    return f"https://{view.workspace.domain}" if view.workspace.domain else ""


def _is_accepted(result: ApiResult) -> bool:
    return result.status in {200, 201, 202}


PAGES: Final = (
    Page("GET /w/<public_id>/imports", list_imports),
    Page("POST /w/<public_id>/imports", create_import),
    Page("GET /w/<public_id>/imports/<import_id>", show_import),
    Page("POST /w/<public_id>/imports/<import_id>/check", check_import_again),
    Page("POST /w/<public_id>/imports/<import_id>/start", start_import),
    Page("POST /w/<public_id>/imports/<import_id>/cancel", cancel_import),
)
