"""The tables of a lake and their columns; those of events are derived from an event."""

from dataclasses import dataclass
from typing import Final

from service_core.delivery.exports.export_rows import EVENT_COLUMNS
from service_core.delivery.exports.table import CellFormat
from service_core.ingestion.models import COLUMNS

SCHEMA_VERSION: Final = 2
"""Version of the columns and the layout; files of another version are written again."""

PARTITION_COLUMN: Final = "date"
"""Name of the column that the folders of the files hold."""

MONEY_DECIMALS: Final = 4
"""Decimals of amounts: as many as the currency with the most."""

_TYPE_NAMES: Final = {
    CellFormat.TEXT: "text",
    CellFormat.INTEGER: "bigint",
    CellFormat.FLAG: "boolean",
    CellFormat.INSTANT: "timestamp with time zone",
    CellFormat.JSON: "text",
    CellFormat.MONEY: f"decimal(38, {MONEY_DECIMALS})",
}


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of the files.

    Attributes:
        name: name of the column.
        format: what it holds.
        is_required: whether no value is null.
        description: its meaning.
    """

    name: str
    format: CellFormat
    is_required: bool
    description: str

    @property
    def type_name(self) -> str:
        """Returns the type as SQL names it."""
        return _TYPE_NAMES[self.format]


EVENT_LAKE_COLUMNS: Final = tuple(
    LakeColumn(
        exported.name,
        exported.format,
        exported.name in {"event_id", "event_name", "timestamp", "received_at", "visitor_id", "session_id"},
        f"{declared.description} JSON text."
        if exported.format is CellFormat.JSON
        else f"{declared.description} In major units."
        if exported.format is CellFormat.MONEY
        else declared.description,
    )
    for exported, declared in zip(EVENT_COLUMNS, COLUMNS, strict=False)
)
"""The columns of an event in the order of the files: those of `GET /events`."""


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table of a lake besides the events.

    Attributes:
        name: name of its folder.
        description: what a row is.
        columns: in the order of the files.
    """

    name: str
    description: str
    columns: tuple[LakeColumn, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Returns the names of the columns."""
        return tuple(column.name for column in self.columns)


def _optional_money(name: str, description: str) -> LakeColumn:
    return LakeColumn(name, CellFormat.MONEY, False, f"{description} In major units; null if unknown.")


def _text(name: str, description: str, *, is_required: bool = False) -> LakeColumn:
    return LakeColumn(name, CellFormat.TEXT, is_required, description)


PAYMENTS: Final = LakeTable(
    "payments",
    "Charges and refunds as the metrics count them: reports of one order within 7 days once, in their own currency. Orders are the rows "
    "with `is_order`. A refund is on its own day.",
    (
        _text("event_id", "Event that reported the payment.", is_required=True),
        LakeColumn("timestamp", CellFormat.INSTANT, True, "When it happened."),
        _text("kind", "`charge` or `refund`.", is_required=True),
        LakeColumn("is_order", CellFormat.FLAG, True, "Whether it is a charge that is an order."),
        _text("order_id", "Id of the order."),
        _text("provider", "What reported it."),
        _text("currency", "Currency of the amounts."),
        LakeColumn("amount", CellFormat.MONEY, True, "Amount charged or refunded, positive. In major units."),
        _optional_money("gross", "Price of the items of a charge before discounts."),
        _optional_money("discount", "Discount of a charge."),
        _optional_money("tax", "Tax of a charge."),
        _optional_money("shipping", "Shipping of a charge."),
        _optional_money(
            "fee", "Fee of a charge, as its provider reports it; fee rates of the settings are not applied."
        ),
    ),
)
SPEND: Final = LakeTable(
    "spend",
    "Spend of campaigns by day in the time zone of their account, as the ad platforms reported it last.",
    (
        _text("platform", "Ad platform.", is_required=True),
        _text("account_id", "Ad account.", is_required=True),
        _text("campaign_id", "Campaign.", is_required=True),
        _text("campaign_name", "Latest name of the campaign."),
        _text("currency", "Currency of the account.", is_required=True),
        _optional_money("spend", "Spend."),
        LakeColumn("impressions", CellFormat.INTEGER, False, "Impressions; null if unknown."),
        LakeColumn(
            "clicks", CellFormat.INTEGER, False, "Clicks as the platform counts them; null if unknown."
        ),
    ),
)
MONEY_TABLES: Final = (PAYMENTS, SPEND)
"""The tables besides the events."""
