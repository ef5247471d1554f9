"""How `GET /attribution` groups touches, and what its rows look like (contract 3.12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from service_core.analytics.attribution.ports import TouchKey
from service_core.analytics.measures import NOT_SET, Relation
from service_core.kernel.schemas import ResponseModel

GroupBy: TypeAlias = Literal["campaign", "source", "medium", "term", "content", "channel", "lyr"]


class CreditTotals(ResponseModel):
    """Conversions and money, credited or not."""

    conversions: Decimal
    revenue: Decimal | None
    net_revenue: Decimal | None


class CreditAndTrafficTotals(CreditTotals):
    """What was credited, beside who came."""

    visitors: int
    sessions: int


class AttributionRow(CreditAndTrafficTotals):
    """One group: who came with its values in the session, and what its touches are credited with."""

    conversion_rate: Decimal | None
    revenue_per_visitor: Decimal | None


class CampaignRow(AttributionRow):
    """By campaign; what has no UTM value shows source and medium as they were inferred."""

    utm_source: str
    utm_medium: str
    utm_campaign: str


class SourceRow(AttributionRow):
    """By source."""

    attribution_source: str


class MediumRow(AttributionRow):
    """By medium."""

    attribution_medium: str


class TermRow(AttributionRow):
    """By `utm_term`."""

    utm_term: str


class ContentRow(AttributionRow):
    """By `utm_content`."""

    utm_content: str


class ChannelRow(AttributionRow):
    """By channel."""

    channel: str


class LinkTagRow(AttributionRow):
    """By link tag."""

    lyr: str


AnyAttributionRow: TypeAlias = (
    CampaignRow | SourceRow | MediumRow | TermRow | ContentRow | ChannelRow | LinkTagRow
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to group touches: the form of its rows, and field -> column of `ports.Touch`."""

    row_model: type[AttributionRow]
    touch_columns: Mapping[str, str]

    @property
    def dimension_columns(self) -> tuple[Mapping[str, str], ...]:
        """The columns by relation: of the session where visitors are counted, of the touch in credits."""
        return tuple(
            {
                Relation.EVENTS: _prefixed_column("entry", column),
                Relation.CREDITS: _prefixed_column("touch", column),
            }
            for column in self.touch_columns.values()
        )

    def key_fields(self, key: TouchKey) -> dict[str, Any]:
        """The values of a group as its row shows them."""
        return {name: value or NOT_SET for name, value in zip(self.touch_columns, key, strict=True)}


def _prefixed_column(prefix: str, column: str) -> str:
    return "|".join(f"{prefix}.{name}" for name in column.split("|"))


GROUPINGS: Final[Mapping[GroupBy, Grouping]] = {
    "campaign": Grouping(
        CampaignRow,
        {
            "utm_source": "utm_source|attribution_source",
            "utm_medium": "utm_medium|attribution_medium",
            "utm_campaign": "utm_campaign",
        },
    ),
    "source": Grouping(SourceRow, {"attribution_source": "attribution_source"}),
    "medium": Grouping(MediumRow, {"attribution_medium": "attribution_medium"}),
    "term": Grouping(TermRow, {"utm_term": "utm_term"}),
    "content": Grouping(ContentRow, {"utm_content": "utm_content"}),
    "channel": Grouping(ChannelRow, {"channel": "channel"}),
    "lyr": Grouping(LinkTagRow, {"lyr": "lyr"}),
}
