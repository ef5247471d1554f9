"""`GET /traffic`, `/devices`, `/locations`: one metric by one grouping (contract 3.2)."""

from fractions import Fraction
from typing import Annotated, Final, Generic, Literal, TypeVar

from pydantic import BeforeValidator, Field

from service_core.access.model import Caller
from service_core.insight.answers import counts
from service_core.insight.countries import COUNTRIES
from service_core.insight.query.question import Order, Question, Table
from service_core.insight.query.questions import Questions
from service_core.insight.range_query import RangeQuery
from service_core.insight.rounding import decimal
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.ranges import Range

_DIMENSIONS: Final = {
    "referrer": ("referrer_host",),
    "campaign": ("utm_campaign",),
    "page": ("page_path",),
    "browser": ("browser",),
    "os": ("os",),
    "device": ("device_type",),
    "country": ("country",),
    "region": ("region", "country"),
    "city": ("city", "country"),
}
_PERCENT_DECIMALS: Final = 2

CountedMetric = Literal["visitors", "sessions", "pageviews"]
DeviceGrouping = Annotated[
    Literal["browser", "os", "device"],
    BeforeValidator(lambda sent: "device" if sent == "device_type" else sent),
]


class BreakdownQuery(RangeQuery):
    """Parameters all groupings share."""

    type: str
    metric: CountedMetric | None = Field(
        default=None, description="What `count` counts; default `visitors`, for pages `pageviews`."
    )
    limit: Annotated[int, Clamp(1, 100)] = Field(20, description="Rows; percentages cover all of them.")

    @property
    def counted(self) -> CountedMetric:
        """The metric `count` is the value of."""
        return self.metric or ("pageviews" if self.type == "page" else "visitors")


class TrafficQuery(BreakdownQuery):
    """Parameters of `GET /traffic`."""

    type: Literal["referrer", "campaign", "page"] = Field(default="referrer", description="Grouping.")


class DevicesQuery(BreakdownQuery):
    """Parameters of `GET /devices`."""

    type: DeviceGrouping = Field(default="browser", description="Grouping.")


class LocationsQuery(BreakdownQuery):
    """Parameters of `GET /locations`."""

    type: Literal["country", "region", "city"] = Field(default="country", description="Grouping.")


class CountRow(Answer):
    """One value of the grouping."""

    name: str
    count: int
    percentage: float = Field(description="Of all rows, 0 to 100.")


class CountryRow(Answer):
    """One country."""

    name: str
    code: str | None = Field(description="ISO 3166-1 alpha-2.")
    count: int
    percentage: float


class PlaceRow(Answer):
    """One region or city."""

    name: str
    country_code: str | None = Field(description="ISO 3166-1 alpha-2.")
    count: int
    percentage: float


RowT = TypeVar("RowT", bound=Answer)


class Breakdown(Answer, Generic[RowT]):
    """Counts by one grouping; ``total`` is the base of the percentages: all rows before ``limit``."""

    data: list[RowT]
    type: str
    metric: CountedMetric
    total: int
    range: RangeAnswer
    complete: bool


@operation("GET /traffic", tag="traffic")
async def get_traffic(query: TrafficQuery, *, who: Caller, questions: Questions) -> Breakdown[CountRow]:
    """Where visits come from, and what they see: by referrer, campaign or page."""
    return await _plain_breakdown(query, who, questions)


@operation("GET /devices", tag="traffic")
async def get_devices(query: DevicesQuery, *, who: Caller, questions: Questions) -> Breakdown[CountRow]:
    """What visitors use: by browser, operating system or kind of device."""
    return await _plain_breakdown(query, who, questions)


@operation("GET /locations", tag="traffic")
async def get_locations(
    query: LocationsQuery, *, who: Caller, questions: Questions
) -> Breakdown[CountryRow | PlaceRow]:
    """Where visitors are: by country, region or city."""
    asked = query.asked(who)
    table = await _table(query, asked, who, questions)
    row = _country if query.type == "country" else _place
    return Breakdown[CountryRow | PlaceRow](
        data=[row(labels, count, percent) for labels, count, percent in _shares(table)],
        type=query.type,
        metric=query.counted,
        total=_base(table),
        range=RangeAnswer.of(asked),
        complete=await questions.complete(who, asked, (query.counted,)),
    )


async def _plain_breakdown(query: BreakdownQuery, who: Caller, questions: Questions) -> Breakdown[CountRow]:
    asked = query.asked(who)
    table = await _table(query, asked, who, questions)
    return Breakdown[CountRow](
        data=[
            CountRow(name=labels[0], count=count, percentage=share) for labels, count, share in _shares(table)
        ],
        type=query.type,
        metric=query.counted,
        total=_base(table),
        range=RangeAnswer.of(asked),
        complete=await questions.complete(who, asked, (query.counted,)),
    )


async def _table(query: BreakdownQuery, asked: Range, who: Caller, questions: Questions) -> Table:
    dimensions = _DIMENSIONS[query.type]
    names = tuple(Order(dimension, descending=False) for dimension in dimensions)
    return await questions.ask(
        who,
        Question(
            (query.counted,),
            asked,
            dimensions=dimensions,
            order=(Order(query.counted), *names),
            limit=query.limit,
            include_bots=query.include_bots,
        ),
    )


def _base(table: Table) -> int:
    return int(table.sums[0] or 0)


def _shares(table: Table) -> list[tuple[tuple[str, ...], int, float]]:
    base = _base(table)
    rows = [(row.labels, counts(row)[0]) for row in table.rows]
    return [(labels, count, percentage(count, base)) for labels, count in rows]


def percentage(count: int, base: int) -> float:
    """A share of the base, 0 to 100 with 2 decimals."""
    return float(decimal(Fraction(100 * count, base), _PERCENT_DECIMALS)) if base else 0.0


def _country(labels: tuple[str, ...], count: int, share: float) -> CountryRow:
    code = _code(labels[0])
    return CountryRow(name=COUNTRIES.get(labels[0], labels[0]), code=code, count=count, percentage=share)


def _place(labels: tuple[str, ...], count: int, share: float) -> PlaceRow:
    return PlaceRow(name=labels[0], country_code=_code(labels[1]), count=count, percentage=share)


def _code(label: str) -> str | None:
    return label if label in COUNTRIES else None


OPERATIONS = (get_traffic, get_devices, get_locations)
