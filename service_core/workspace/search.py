"""`GET /search`: anything with a name (contract 4.5)."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.changes.resource import Resource
from service_core.changes.write import Writes
from service_core.insight.people.ports import People, PeoplePage
from service_core.insight.predicates import uncased
from service_core.insight.query.questions import Questions
from service_core.insight.scans import scan_of
from service_core.insight.values import advertised, find_values, last_days
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp, QueryModel
from service_core.kernel.together import together
from service_core.workspace.links.model import Link

_LEAST_LENGTH: Final = 2
_DIMENSIONS: Final = {
    "campaign": "utm_campaign",
    "source": "attribution_source",
    "page": "page_path",
    "event": "event_name",
    "tag": "lyr",
    "product": "product",
}
"""Types whose results are filters as they stand."""

_ADVERTISED: Final = {
    "campaign": ("campaign_id", "campaign_name"),
    "ad_group": ("ad_group_id", "ad_group_name"),
    "ad": ("ad_id", "ad_name"),
}
"""Types of what there was spend of: filters by the first dimension, found by either."""

_RESOURCES: Final = {
    "link": Link.resource_type,
    "report": "report",
    "dashboard": "dashboard",
    "analysis": "analysis",
}
"""Types of what the workspace owns."""

TYPES: Final = (*dict.fromkeys((*_DIMENSIONS, *_ADVERTISED)), *_RESOURCES, "metric", "user")


class SearchQuery(QueryModel):
    """Parameters of `GET /search`."""

    needed: ClassVar = ("q",)
    q: str = Field(default="", description="At least 2 characters.")
    types: str | None = Field(default=None, description="Comma list; default all types.")
    limit: Annotated[int, Clamp(1, 50)] = 20

    def wanted(self) -> tuple[str, ...]:
        """The types to look through.

        Raises:
            BadRequest: ``missing_query`` or an unknown type.
        """
        if len(self.q.strip()) < _LEAST_LENGTH:
            raise BadRequest("q is required, at least 2 characters", "missing_query", field="q")
        sent = [part for each in (self.types or "").split(",") if (part := each.strip())]
        unknown = next((type_ for type_ in sent if type_ not in TYPES), None)
        if unknown is not None:
            raise BadRequest(
                f"Unknown type {unknown!r}",
                "invalid_parameter",
                field="types",
                hint=f"Types: {', '.join(TYPES)}.",
            )
        return tuple(dict.fromkeys(sent or TYPES))  # each is a question to the store: one named twice is one


class SearchResult(Answer):
    """Something found; with a ``dimension`` it is a filter as it stands."""

    type: str
    dimension: str | None = None
    value: str
    label: str
    id: str | None = None
    platform: str | None = None
    count: int | None = None


class SearchResults(Answer):
    """What was found: names that start with the query first, then the most frequent."""

    query: str
    results: list[SearchResult]


@operation("GET /search", tag="query")
async def get_search(
    query: SearchQuery, *, who: Caller, questions: Questions, people: People, writes: Writes
) -> SearchResults:
    """Campaigns, ads, sources, pages, events, tags and people of the last 90 days by name; also metrics, links and reports."""
    types, text = query.wanted(), query.q.strip()
    named = [_values(who, questions, type_, text, query.limit) for type_ in types if type_ in _DIMENSIONS]
    bought = [_advertised(who, questions, type_, text) for type_ in types if type_ in _ADVERTISED]
    found = await together(*named, *bought)
    results = [result for results in found for result in results]
    owned = [type_ for type_ in types if type_ in _RESOURCES]
    results += await _owned(who, writes, owned, text, query.limit)
    if "metric" in types:
        results += _metrics(questions, text)
    if "user" in types:
        results += await _users(who, people, text, query.limit)
    results.sort(
        key=lambda each: (
            not each.label.lower().startswith(text.lower()),
            -(each.count or 0),
            each.label.lower(),
        )
    )
    return SearchResults(query=query.q, results=results[: query.limit])


async def _values(who: Caller, questions: Questions, type_: str, text: str, limit: int) -> list[SearchResult]:
    dimension = questions.catalog.dimensions[_DIMENSIONS[type_]]
    values, _ = await find_values(who, questions, dimension, last_days(who), q=text, limit=limit)
    return [
        SearchResult(type=type_, dimension=dimension.id, value=each.value, label=each.label, count=each.count)
        for each in values
        if each.value != dimension.absent
    ]


async def _advertised(who: Caller, questions: Questions, type_: str, text: str) -> list[SearchResult]:
    """Entities of ad platforms; one that has no name is known by its id."""
    ids = ("platform", *_ADVERTISED[type_])
    dimensions = [questions.catalog.dimensions[id_] for id_ in ids]
    told = await advertised(who, questions, dimensions, last_days(who))
    return [
        SearchResult(
            type=type_,
            dimension=ids[1],
            value=id_,
            label=id_ if name == dimensions[2].absent else name,
            id=id_,
            platform=platform,
            count=rows,
        )
        for (platform, id_, name), rows in told
        if uncased(text) in uncased(name) or uncased(text) in uncased(id_)
    ]


async def _owned(
    who: Caller, writes: Writes, types: Iterable[str], text: str, limit: int
) -> list[SearchResult]:
    """Links, reports and the like one of whose names holds the text."""
    found: list[SearchResult] = []
    async with writes.units.look(who.workspace.id) as unit:
        for type_ in types:
            kind = writes.kinds.get(_RESOURCES[type_])
            records = await unit.resources.named(kind.model, text, limit) if kind else []
            found += [_result(type_, record) for record in records]
    return found


def _result(type_: str, record: Resource) -> SearchResult:
    """A link is a filter by its tag; anything else is known by its id."""
    own = str(record.id)
    if isinstance(record, Link):
        tag = record.tracking_identifier
        return SearchResult(type=type_, dimension="lyr", value=tag, label=record.name, id=own)
    return SearchResult(type=type_, value=own, label=record.name, id=own)


def _metrics(questions: Questions, text: str) -> list[SearchResult]:
    return [
        SearchResult(type="metric", value=metric.id, label=metric.label, id=metric.id)
        for metric in questions.catalog.metrics.values()
        if text.lower() in metric.label.lower() or text.lower() in metric.id
    ]


async def _users(who: Caller, people: People, text: str, limit: int) -> list[SearchResult]:
    scan = scan_of(who, last_days(who).span)
    found, _ = await people.people(PeoplePage(scan, limit=limit, offset=0, sort="last_seen", search=text))
    return [
        SearchResult(
            type="user",
            value=person.user_id or person.visitor_id,
            label=person.email or person.user_id or person.visitor_id,
            id=person.user_id or person.visitor_id,
            count=person.events,
        )
        for person in found
    ]


OPERATIONS = (get_search,)
