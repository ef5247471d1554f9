"""`POST /receipts`: how a number was made; the same again, and its records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.ports import EventReader
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.formula import describe_base_measure, formula_of_metric
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.analytics.receipts.applied_rates import list_applied_rates
from service_core.analytics.receipts.canonical import canonical_json, digest_of_lines
from service_core.analytics.receipts.left_out import LeftOutCounter
from service_core.analytics.receipts.models import RECEIPT_LIFETIME, StoredReceipt
from service_core.analytics.receipts.open_number import (
    CellQuery,
    OpenNumber,
    build_cell_query,
    decimals_of_unit,
    open_number,
)
from service_core.analytics.receipts.ports import Receipts
from service_core.analytics.receipts.schemas import (
    AppliedRate,
    CountedRecords,
    CurrencyAmount,
    LeftOutRecords,
    Receipt,
    ReceiptDefinition,
    ReceiptFilter,
    ReceiptPath,
    ReceiptRecordPage,
    ReceiptRecordsQuery,
    ReceiptRequest,
    ReceiptTerm,
    ResolvedReceipt,
)
from service_core.analytics.receipts.terms import TermRecords, json_number
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import sha256_hex
from service_core.kernel.operations import operation
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.settings import Settings
from service_core.kernel.timestamps import truncate_to_milliseconds

_NOT_IN_ID: Final = {"id", "records_url"}
_ID_LENGTH: Final = 32


@operation("POST /receipts", tag="receipts", tool_title="Receipt of a number")
async def create_receipt(
    body: ReceiptRequest,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
    receipts: Receipts,
    rate_lookup: RateLookup,
    settings: Settings,
) -> Receipt:
    """Opens a number of `POST /query`: definition, terms, the records counted and those left out by reason.

    The contributions of the records at `records_url` add up to the value. The receipt can be read again for 90 days.
    """
    caller = replace(caller, now=truncate_to_milliseconds(caller.now))
    cell = await build_cell_query(body, caller, queries, models, event_reader)
    number = await open_number(caller, queries, cell)
    counter = LeftOutCounter(caller, queries, cell.query, cell.bucket)
    left_out = [
        LeftOutRecords(term=each.term, reason=each.reason, records=each.records)
        for each in await counter.count(number.terms)
    ]
    formula = formula_of_metric(number.metric, queries.catalog).text
    described = _build_receipt_without_id(cell, number, _describe_query(body, caller, cell), formula)
    rates = await list_applied_rates(number.terms, rate_lookup, cell.query.range, caller.workspace.currency)
    source = rate_lookup.source.id if rate_lookup.source else ""
    fx = [AppliedRate(currency=each.currency, date=each.day, rate=each.rate, source=source) for each in rates]
    receipt = _with_id_and_address(described.model_copy(update={"left_out": left_out, "fx": fx}), settings)
    await receipts.save_receipt_and_delete_expired(
        StoredReceipt(
            id=receipt.id,
            workspace_id=caller.workspace.id,
            created_at=caller.now,
            expires_at=caller.now + RECEIPT_LIFETIME,
            request=body.model_dump_json(),
            answer=receipt.model_dump_json(),
        )
    )
    return receipt


@operation("GET /receipts/{receiptId}", tag="receipts")
async def get_receipt(path: ReceiptPath, *, caller: Caller, receipts: Receipts) -> Receipt:
    """Returns a receipt again, as it was given."""
    stored = await _find_own_receipt(path.receiptId, caller, receipts)
    return Receipt.model_validate_json(stored.answer)


@operation("GET /receipts/{receiptId}/records", tag="receipts")
async def list_receipt_records(
    path: ReceiptPath,
    query: ReceiptRecordsQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
    receipts: Receipts,
) -> ReceiptRecordPage:
    """Lists the records that a receipt counts, each with its contribution.

    `unchanged` is false when events came, or were erased, since the receipt was given.
    """
    stored = await _find_own_receipt(path.receiptId, caller, receipts)
    scope_digest = cursor_scope_digest(
        caller.workspace.secret, str(caller.workspace.id), stored.id, query.cursor_parameters()
    )
    offset = decode_offset_cursor(query.cursor, scope_digest).offset if query.cursor else 0
    body = ReceiptRequest.model_validate_json(stored.request)
    caller = replace(caller, now=stored.created_at)
    cell = await build_cell_query(body, caller, queries, models, event_reader)
    number = await open_number(caller, queries, cell)
    records = [record for term in number.terms for record in term.records]
    page = records[offset : offset + query.limit]
    following = offset + len(page)
    digest = _digest_of_terms(number.terms)
    return ReceiptRecordPage(
        records=[dict(record) for record in page],
        total_count=len(records),
        digest=digest,
        unchanged=digest == Receipt.model_validate_json(stored.answer).counted.digest,
        next_cursor=encode_offset_cursor(OffsetCursor(following, caller.now), scope_digest)
        if following < len(records)
        else None,
    )


def _build_receipt_without_id(
    cell: CellQuery, number: OpenNumber, resolved: ResolvedReceipt, formula: str
) -> Receipt:
    """Returns the receipt without id, address and what is left out."""
    metric, currency = number.metric, resolved.currency
    return Receipt(
        id="",
        value=round_to_json_number_by_unit(number.value, metric, currency),
        unit=metric.unit,
        decimals=decimals_of_unit(metric.unit, currency),
        definition=ReceiptDefinition(
            metric=metric.id,
            version=metric.version,
            text=metric.description,
            formula=formula,
        ),
        resolved=resolved,
        terms=[_describe_term(term) for term in number.terms],
        counted=CountedRecords(
            records=sum(len(term.records) for term in number.terms), digest=_digest_of_terms(number.terms)
        ),
        left_out=[],
        fx=[],
        unavailable=list_unavailable_with_reasons((metric.id,), (number.value,)),
        as_of=cell.query.range.now,
        records_url="",
    )


def _describe_term(term: TermRecords) -> ReceiptTerm:
    return ReceiptTerm(
        name=term.name,
        value=None if term.total is None else json_number(term.total),
        amounts=[
            CurrencyAmount(currency=currency, amount=json_number(amount))
            for currency, amount in term.amounts.items()
        ],
        text=describe_base_measure(term.base),
    )


def _describe_query(body: ReceiptRequest, caller: Caller, cell: CellQuery) -> ResolvedReceipt:
    return ResolvedReceipt(
        workspace=caller.workspace.public_id,
        date_range=RangeResponse.from_range(cell.query.range),
        bucket=cell.bucket,
        timezone=caller.workspace.timezone,
        currency=caller.workspace.currency,
        filters=[
            ReceiptFilter(dimension=each.dimension, op=each.op, value=_json_value(each.value))
            for each in cell.query.filters
        ],
        attribution=cell.attribution,
        refund_basis=body.plan.refund_basis,
        include_bots=cell.query.include_bots,
    )


def _json_value(operand: Any) -> Any:
    return list(operand) if isinstance(operand, tuple) else operand


def _digest_of_terms(terms: Sequence[TermRecords]) -> str:
    return digest_of_lines(line for term in terms for line in term.lines)


def _with_id_and_address(receipt: Receipt, settings: Settings) -> Receipt:
    """Returns the receipt with the digest of its content as id, and the address of its records."""
    content = {
        name: value for name, value in receipt.model_dump(by_alias=True).items() if name not in _NOT_IN_ID
    }
    id_ = sha256_hex(canonical_json(content))[:_ID_LENGTH]
    address = f"{settings.http.effective_api_url}/v1/receipts/{id_}/records"
    return receipt.model_copy(update={"id": id_, "records_url": address})


async def _find_own_receipt(receipt_id: str, caller: Caller, receipts: Receipts) -> StoredReceipt:
    stored = await receipts.find_receipt(caller.workspace.id, receipt_id, caller.now)
    if stored is None:
        raise NotFound
    return stored


OPERATIONS = (create_receipt, get_receipt, list_receipt_records)
