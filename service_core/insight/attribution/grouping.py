"""How `GET /attribution` groups touches, and what its rows look like (contract 3.12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from service_core.insight.attribution.ports import Key
from service_core.insight.measures import NOT_SET, Relation
from service_core.kernel.params import Answer

GroupBy: TypeAlias = Literal["campaign", "source", "medium", "term", "content", "channel", "lyr"]


class Earned(Answer):
    """Conversions and money, credited or not."""

    conversions: Decimal
    revenue: Decimal | None
    net_revenue: Decimal | None


class Visited(Earned):
    """What was credited, beside who came."""

    visitors: int
    sessions: int


class Row(Visited):
    """One group: who came with its values in the session, and what its touches are credited with."""

    conversion_rate: Decimal | None
    revenue_per_visitor: Decimal | None


class CampaignRow(Row):
    """By campaign; what has no UTM value shows source and medium as they were inferred."""

    utm_source: str
    utm_medium: str
    utm_campaign: str


class SourceRow(Row):
    """By source."""

    attribution_source: str


class MediumRow(Row):
    """By medium."""

    attribution_medium: str


class TermRow(Row):
    """By `utm_term`."""

    utm_term: str


class ContentRow(Row):
    """By `utm_content`."""

    utm_content: str


class ChannelRow(Row):
    """By channel."""

    channel: str


class LinkTagRow(Row):
    """By link tag."""

    lyr: str


AnyRow: TypeAlias = CampaignRow | SourceRow | MediumRow | TermRow | ContentRow | ChannelRow | LinkTagRow


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to group touches: the form of its rows, and field -> column of `ports.Touch`."""

    row: type[Row]
    columns: Mapping[str, str]

    @property
    def dimensions(self) -> tuple[Mapping[str, str], ...]:
        """The columns by relation: of the session where visitors are counted, of the touch in credits."""
        return tuple(
            {Relation.EVENTS: _in("entry", column), Relation.CREDITS: _in("touch", column)}
            for column in self.columns.values()
        )

    def keys(self, key: Key) -> dict[str, Any]:
        """The values of a group as its row shows them."""
        return {name: value or NOT_SET for name, value in zip(self.columns, key, strict=True)}


def _in(side: str, column: str) -> str:
    return "|".join(f"{side}.{name}" for name in column.split("|"))


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
