"""Imports: upload a file, see what it becomes, start it, follow it to its reconciliation sheet, and remove it again."""

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
from service_core.delivery.imports.models import (
    ACCEPTED,
    ENDED_STATES,
    FINAL_STATES,
    WORKER_STATES,
    ImportStatus,
)
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
    "removing": "Removing its events",
    "removed": "Removed",
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
    "daily_total": "Daily totals, which hold no events",
    "duplicate": "Duplicates of earlier events",
    "no_time": "Events without a time",
    "before_2020": "Events from before 2020",
    "no_tracking_request": "Requests that aren't tracking requests",
    "not_paid": "Payments that aren't complete",
    "further_item": "Further items of an order",
    "other_object": "Objects other than payments",
    "not_utf8": "Rows that aren't UTF-8 text",
    "other_table": "Rows of other tables",
    "too_long": "Lines that are too long for an event",
    "wrong_column_count": "Rows with too few or too many columns",
}
"""Outcome of a line or row -> in words."""

PROBLEM_LABELS: Final[Mapping[str, str]] = {
    "payload_too_large": "The file is too large. Split it, or use touchpoint import on the server.",
    "wrong_import_status": "This import has its file already.",
    "invalid_signature": "The upload form has expired. Create a new import.",
    "invalid_field": "The file is empty.",
}
REFRESH_SECONDS: Final = 3
SHOWN_DAYS: Final = 366
SOURCE_PREFIX: Final = "source:"
"""Begins the choice of an import source among the file types."""

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
    source = kind.removeprefix(SOURCE_PREFIX)
    read_by = {"format": kind} if source == kind else {"format": "source", "source": source}
    body = {**read_by, "file_name": context.form.text("name")[:255]}
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


async def remove_import(context: PageContext, public_id: str, import_id: str) -> Response:
    """Remove what an import brought in, after a page that says how much it is."""
    view = await open_workspace_view(context, public_id, Permission.MANAGE)
    path = f"/imports/{parse_id_or_raise_not_found(import_id)}"
    job = await view.get_or_not_found(path)
    is_confirmed = context.form.text("confirmed") == "yes"
    result = await view.send("POST", f"{path}/remove", {"dry_run": not is_confirmed})
    if not _is_accepted(result):
        return await _import_page(view, job, result.refusal_message, result.status)
    if is_confirmed:
        return context.redirect_to(f"{view.path}{path}")
    return await _import_page(view, job, removable_events=result.body["events"])


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
    listed = await view.get_or_fail("/imports", limit="50")
    jobs, sources = listed["imports"], listed["sources"]
    return await view.render(
        "imports.html",
        refused.status if refused else 200,
        jobs=jobs,
        formats={**FORMATS, **{f"{SOURCE_PREFIX}{s['id']}": f"{s['label']}: {s['files']}" for s in sources}},
        statuses=STATUS_LABELS,
        names=[_name_import(job) for job in jobs],
        refused=refused.refusal_message if refused else None,
        values=values or {"format": "access_log", "site": _suggest_site(view)},
    )


async def _import_page(
    view: WorkspaceView,
    job: Answer,
    problem: str | None = None,
    status: int = 200,
    *,
    removable_events: int | None = None,
) -> Response:
    in_progress = ImportStatus(job["status"]) in WORKER_STATES
    live = in_progress and request.args.get("updates") != "off"
    response = await view.render(
        "import.html",
        status,
        job=job,
        problem=problem,
        name=_name_import(job),
        file_type=FORMATS.get(job["format"]) or f"Export of {job['source']}",
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
        is_removable=ImportStatus(job["status"]) in ENDED_STATES and (job["accepted"] or job["duplicates"]),
        removable_events=removable_events,
        days=[_label_day(line) for line in job["days"][-SHOWN_DAYS:]],
        day_count=len(job["days"]),
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


def _name_import(job: Answer) -> str:
    return str(job["file_name"] or FORMATS.get(job["format"]) or f"Export of {job['source']}")


def _label_day(line: Answer) -> dict[str, Any]:
    """Returns a line of the reconciliation sheet with its differences in words."""
    named = (
        f"{REASON_LABELS.get(reason, reason)}: {count:,}" for reason, count in line["differences"].items()
    )
    return {**line, "words": ", ".join(named)}


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
    Page("POST /w/<public_id>/imports/<import_id>/remove", remove_import),
)
