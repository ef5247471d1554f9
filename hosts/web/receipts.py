"""How is this number made: the receipt of a metric over the range and filters of a page, with its first records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, DisplayContext, parse_instant
from hosts.web.cards.json_values import build_display_context
from hosts.web.charts.time_labels import build_labelled_bucket
from hosts.web.missing_values import explain_missing_values
from hosts.web.overview_tabs import filterable_dimensions
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import FILTERS_AND_SEGMENTS, RangeBar
from hosts.web.value_words import format_moment, humanize
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.record_columns import can_list_records
from service_core.kernel.timestamps import format_timestamp

_DEFAULT_METRIC: Final = "visitors"
_SHOWN_RECORDS: Final = 100
_PARAMETERS: Final = ("metric", "bots", "refund_basis", "bucket", "start", "end")
_NOT_A_COLUMN: Final = frozenset({"term", "contribution", "contribution_currency", "rated_at"})
_REASON_WORDS: Final = {
    "bot": "Bots",
    "test": "Marked as tests",
    "no_visit": "Sent by no device, so no visit",
    "duplicate_order": "Further reports of the same order",
    "other_sessions": "Sessions that do not meet the condition",
}
_OPERATOR_WORDS: Final = {" * ": " × ", " / ": " ÷ ", " - ": " − "}  # noqa: RUF001 - as people write formulas


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Some records of one term.

    Attributes:
        title: name of the term.
        term: id of the term.
        columns: names of the columns.
        rows: cells of each record, its contribution last.
    """

    title: str
    term: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


async def show_receipt(context: PageContext, public_id: str) -> Response:
    """The receipt of the metric in the address."""
    view = await open_workspace_view(context, public_id)
    catalog = context.component(Catalog)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    metric = chosen.get("metric", "")
    metric = metric if metric in catalog.metrics else _DEFAULT_METRIC
    state = replace(state, page_parameters=tuple({**chosen, "metric": metric}.items()))
    setting = build_display_context(catalog, view.workspace)
    read = await _read_receipt(view, state, metric)
    ours = f"{context.base}{view.path}"
    return await view.render(
        "receipt.html",
        state=state,
        bar=RangeBar(
            state,
            f"{ours}/receipt",
            filterable_dimensions(catalog),
            FILTERS_AND_SEGMENTS,
            f"{ours}/filter-values",
        ),
        metric=metric,
        label=setting.label(metric),
        metrics={id_: setting.label(id_) for id_, each in catalog.metrics.items() if can_list_records(each)},
        read=read,
        receipt=await _describe_receipt(view, read.data, state, setting) if read.ok else None,
        missing=explain_missing_values(context, read.data["unavailable"]) if read.ok else (),
    )


async def _read_receipt(view: WorkspaceView, state: ViewState, metric: str) -> ApiResult:
    """The receipt whose id the address of a further page has, otherwise a new one."""
    known = request.args.get("receipt", "")
    if known:
        return await view.get(f"/receipts/{quote(known, safe='')}")
    chosen = dict(state.page_parameters)
    size, _, bucket = chosen.get("bucket", "").partition(":")
    plan = {
        "metrics": [metric],
        **state.query_body_parts(with_comparison=False),
        **_instants_of_address(chosen),
        **({"interval": size} if bucket else {}),
        **({"include_bots": True} if chosen.get("bots") else {}),
        **({"refund_basis": chosen["refund_basis"]} if "refund_basis" in chosen else {}),
    }
    return await view.post(
        "/receipts", {"plan": plan, "metric": metric, "key": {"bucket": bucket} if bucket else {}}
    )


def _instants_of_address(chosen: Mapping[str, str]) -> dict[str, Any]:
    """The range of a page that shows hours or minutes instead of days; the end is exclusive."""
    if not {"start", "end"} <= chosen.keys():
        return {}
    return {"date_range": {"from": chosen["start"], "to": _last_millisecond_before(chosen["end"])}}


def _last_millisecond_before(end: str) -> str:
    """The last instant of a range, as the API takes it; what is no instant stays, and the API says so."""
    try:
        return format_timestamp(parse_instant(end) - timedelta(milliseconds=1))
    except (ValueError, TypeError):
        return end


def _covered_in_words(receipt: Answer, state: ViewState, setting: DisplayContext) -> str:
    """The days, the bucket, or the instants that the number covers."""
    chosen, resolved = dict(state.page_parameters), receipt["resolved"]
    if resolved["bucket"] is not None:
        size = chosen["bucket"].partition(":")[0]
        return build_labelled_bucket(parse_instant(resolved["bucket"]), setting.zone, size).title
    if _instants_of_address(chosen):
        first, last = (format_moment(resolved["date_range"][end], setting.zone) for end in ("from", "to"))
        return f"{first} to {last}"
    return state.dates_label


async def _describe_receipt(
    view: WorkspaceView, receipt: Answer, state: ViewState, setting: DisplayContext
) -> Mapping[str, Any]:
    """The receipt in words, with the first records."""
    page = await view.get(
        f"/receipts/{receipt['id']}/records",
        limit=str(_SHOWN_RECORDS),
        cursor=request.args.get("cursor", ""),
    )
    unit = setting.format_for(receipt["unit"], dict(state.page_parameters)["metric"])
    labels = {term["name"]: _label_term(term["name"], setting) for term in receipt["terms"]}
    tables = _build_record_tables(page.data["records"], labels, setting) if page.ok else []
    return {
        "id": receipt["id"],
        "value": unit.format_in_full_or_dash(receipt["value"]),
        "is_unknown": receipt["value"] is None and bool(receipt["unavailable"]),
        "lacks_rate": any(term["amounts"] for term in receipt["terms"]),
        "days": _covered_in_words(receipt, state, setting),
        "moment": format_moment(receipt["as_of"], setting.zone),
        "definition": receipt["definition"],
        "formula": _formula_in_words(receipt["definition"]["formula"], labels),
        "terms": [
            (term["name"], labels[term["name"]], _amounts_of_term(term), term["text"])
            for term in receipt["terms"]
        ],
        "counted": receipt["counted"],
        "left_out": [
            (labels[each["term"]], _REASON_WORDS.get(each["reason"], each["reason"]), f"{each['records']:,}")
            for each in receipt["left_out"]
        ],
        "rates": [
            (each["currency"], each["date"], f"{each['rate']:g}", each["source"]) for each in receipt["fx"]
        ],
        "tables": tables,
        "records_problem": page.problem,
        "shown": sum(len(table.rows) for table in tables),
        "is_first_page": "cursor" not in request.args,
        "next_page": _next_page(receipt, page, state),
    }


def _amounts_of_term(term: Answer) -> list[str]:
    """The value of a term; where it has none, the sum in each currency."""
    if term["value"] is not None:
        return [f"{term['value']:,}"]
    return [f"{each['amount']:,} {each['currency']}" for each in term["amounts"]]


def _contribution_in_words(record: Answer) -> str:
    """What a record adds, with the currency where it is not that of the workspace."""
    currency = record.get("contribution_currency")
    return f"{record['contribution']:,} {currency}" if currency else f"{record['contribution']:,}"


def _next_page(receipt: Answer, page: ApiResult, state: ViewState) -> str | None:
    cursor = page.data.get("next_cursor")
    return state.link(receipt=receipt["id"], cursor=cursor) if cursor else None


def _label_term(name: str, setting: DisplayContext) -> str:
    """The name of the metric that the term is, else the term in words."""
    label = setting.label(name)
    return humanize(name) if label == name else label


def _formula_in_words(formula: str, labels: Mapping[str, str]) -> str:
    """The formula with the labels of its terms: ``Revenue ÷ Orders``."""
    words = " ".join(_label_factor(part, labels) for part in formula.split(" "))
    for operator, sign in _OPERATOR_WORDS.items():
        words = words.replace(operator, sign)
    return words


def _label_factor(part: str, labels: Mapping[str, str]) -> str:
    """A term of the formula by its label, with the parentheses around it; operators and numbers as they are."""
    name = part.strip("()")
    return part.replace(name, labels[name]) if name in labels else part


def _build_record_tables(
    records: Sequence[Answer], labels: Mapping[str, str], setting: DisplayContext
) -> list[RecordTable]:
    tables = []
    for name, label in labels.items():
        of_term = [record for record in records if record["term"] == name]
        if not of_term:
            continue
        columns = [column for column in of_term[0] if column not in _NOT_A_COLUMN]
        rows = [
            [
                *(_format_cell(column, record[column], setting) for column in columns),
                _contribution_in_words(record),
            ]
            for record in of_term
        ]
        tables.append(RecordTable(label, name, [humanize(column) for column in columns], rows))
    return tables


def _format_cell(column: str, value: Any, setting: DisplayContext) -> str:
    if value is None:
        return "—"
    return format_moment(value, setting.zone) if column == "timestamp" else str(value)


PAGES: Final = (Page("GET /w/<public_id>/receipt", show_receipt),)
