"""Groupings of `GET /attribution` and the schemas of its rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias

from service_core.analytics.attribution.ports import TouchKey
from service_core.analytics.measures import NOT_SET, Column, Relation, entry_column, touch_column
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.null_reasons import KNOWN_NULL, WITHOUT_RATE, NullReason
from service_core.kernel.schemas import ResponseModel

GroupBy: TypeAlias = Literal["campaign", "source", "medium", "term", "content", "channel", "lyr"]


class CreditTotals(ResponseModel):
    """Conversions and money."""

    conversions: Decimal
    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    net_revenue: Annotated[Decimal | None, WITHOUT_RATE]


class CreditAndTrafficTotals(CreditTotals):
    """Conversions and money, with the visitors and sessions of the group."""

    visitors: int
    sessions: int


class AttributionRow(CreditAndTrafficTotals):
    """One group: the visitors and sessions with its values, and the credit of its touches."""

    conversion_rate: Annotated[Decimal | None, KNOWN_NULL]
    revenue_per_visitor: Annotated[
        Decimal | None, NullReason(UnavailableReason.MISSING_FX_RATE, computed_from=("revenue",))
    ]


class CampaignRow(AttributionRow):
    """Group by campaign; without UTM values, source and medium show the inferred ones."""

    utm_source: str
    utm_medium: str
    utm_campaign: str


class SourceRow(AttributionRow):
    """Group by source."""

    attribution_source: str


class MediumRow(AttributionRow):
    """Group by medium."""

    attribution_medium: str


class TermRow(AttributionRow):
    """Group by `utm_term`."""

    utm_term: str


class ContentRow(AttributionRow):
    """Group by `utm_content`."""

    utm_content: str


class ChannelRow(AttributionRow):
    """Group by channel."""

    channel: str


class LinkTagRow(AttributionRow):
    """Group by link tag."""

    lyr: str


AnyAttributionRow: TypeAlias = (
    CampaignRow | SourceRow | MediumRow | TermRow | ContentRow | ChannelRow | LinkTagRow
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to group touches: the schema of its rows, and response field to columns of `Touch`, the first set one counts."""

    row_model: type[AttributionRow]
    touch_fields: Mapping[str, tuple[str, ...]]

    @property
    def touch_columns(self) -> tuple[Column, ...]:
        """The grouped columns of touches."""
        return tuple(_first_set(touch_column, names) for names in self.touch_fields.values())

    @property
    def session_and_touch_columns_by_relation(self) -> tuple[Mapping[str, Column], ...]:
        """The grouped columns by relation: session values for visitors, touch values for credits."""
        return tuple(
            {
                Relation.EVENTS: _first_set(entry_column, names),
                Relation.CREDITS: _first_set(touch_column, names),
            }
            for names in self.touch_fields.values()
        )

    def key_fields(self, key: TouchKey) -> dict[str, Any]:
        """Returns the response fields of a group key."""
        return {name: value or NOT_SET for name, value in zip(self.touch_fields, key, strict=True)}


def _first_set(to_column: Callable[[str], Column], names: Sequence[str]) -> Column:
    """Returns the column of the first name, with those of the others as fallbacks."""
    first, *others = map(to_column, names)
    return first.or_else(others[0]) if others else first


GROUPINGS: Final[Mapping[GroupBy, Grouping]] = {
    "campaign": Grouping(
        CampaignRow,
        {
            "utm_source": ("utm_source", "attribution_source"),
            "utm_medium": ("utm_medium", "attribution_medium"),
            "utm_campaign": ("utm_campaign",),
        },
    ),
    "source": Grouping(SourceRow, {"attribution_source": ("attribution_source",)}),
    "medium": Grouping(MediumRow, {"attribution_medium": ("attribution_medium",)}),
    "term": Grouping(TermRow, {"utm_term": ("utm_term",)}),
    "content": Grouping(ContentRow, {"utm_content": ("utm_content",)}),
    "channel": Grouping(ChannelRow, {"channel": ("channel",)}),
    "lyr": Grouping(LinkTagRow, {"lyr": ("lyr",)}),
}
