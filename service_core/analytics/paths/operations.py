"""`GET /paths` and `GET /paths/sessions`: what comes before and after a page or an event, and in which sessions."""

from service_core.access.models import Caller
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.paths.ports import (
    PathReader,
    PathSession,
    PathSessionsQuery,
    PathsQuery,
    PathsResult,
    PathStep,
    PathStepCondition,
)
from service_core.analytics.paths.schemas import (
    PathNodeResponse,
    PathSessionList,
    PathSessionResponse,
    PathSessionsRequest,
    PathsRequest,
    PathsResponse,
    PathStepResponse,
)
from service_core.analytics.people.identity_resolution import user_id_of_person
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.rounding import round_ratio
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation


@operation("GET /paths", tag="paths", tool="get_paths", is_aggregate=True)
async def get_paths(
    query: PathsRequest,
    *,
    caller: Caller,
    path_reader: PathReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> PathsResponse:
    """Shows what sessions do after, or before, a chosen page or event.

    Starts at the first such page or event of a session; a page viewed several times in a row counts once.
    `through` narrows to sessions whose first steps have these values.
    """
    result = await path_reader.read_paths(await _build_paths_query(query, caller, queries), query.top)
    date_range = query.resolve_range_or_default(caller)
    return PathsResponse(
        start=query.start,
        by=query.by,
        direction=query.direction,
        through=list(query.through),
        sessions=result.sessions,
        steps=[_build_step(number, step, result) for number, step in enumerate(result.steps, 1)],
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


@operation("GET /paths/sessions", tag="paths", tool="list_path_sessions")
async def list_path_sessions(
    query: PathSessionsRequest,
    *,
    caller: Caller,
    path_reader: PathReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> PathSessionList:
    """Lists the sessions behind a number of `GET /paths`, which it takes the parameters of."""
    paths = await _build_paths_query(query, caller, queries)
    condition = await _step_condition_reading_top_values_for_other(query, paths, path_reader)
    page = await path_reader.list_path_sessions(
        PathSessionsQuery(paths, condition, query.limit, query.offset)
    )
    date_range = query.resolve_range_or_default(caller)
    return PathSessionList(
        sessions=[_build_session(session) for session in page.sessions],
        total_count=page.total_count,
        has_more=query.offset + len(page.sessions) < page.total_count,
        limit=query.limit,
        offset=query.offset,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


async def _build_paths_query(query: PathsRequest, caller: Caller, queries: MetricQueries) -> PathsQuery:
    return PathsQuery(
        scope=scope_for_caller(
            caller,
            query.resolve_range_or_default(caller).span,
            filters=await queries.read_segment_event_conditions(caller, query.segment_id),
            include_bots=query.include_bots,
        ),
        by_page=query.by == "page",
        start=frozenset({query.start}) if query.by == "page" else list_event_synonyms(query.start),
        backward=query.direction == "previous",
        step_count=query.steps,
        through=query.through,
    )


async def _step_condition_reading_top_values_for_other(
    query: PathSessionsRequest, paths: PathsQuery, path_reader: PathReader
) -> PathStepCondition:
    """Returns the condition of the sessions; those with another value need the most frequent ones."""
    if query.group != "other" or query.step == 0:
        return PathStepCondition(query.step, query.value, is_end=query.group == "ended")
    step = (await path_reader.read_paths(paths, query.top)).steps[query.step - 1]
    return PathStepCondition(query.step, other_than=frozenset(node for node, _ in step.nodes))


def _build_step(number: int, step: PathStep, result: PathsResult) -> PathStepResponse:
    listed = sum(sessions for _, sessions in step.nodes)
    return PathStepResponse(
        step=number,
        values=[
            PathNodeResponse(value=node, sessions=sessions, share=round_ratio(sessions, result.sessions))
            for node, sessions in step.nodes
        ],
        other_sessions=step.sessions - listed,
        other_values=step.node_count - len(step.nodes),
        ended_sessions=result.sessions - step.sessions,
    )


def _build_session(session: PathSession) -> PathSessionResponse:
    return PathSessionResponse(
        user_id=user_id_of_person(session.person),
        visitor_id=session.visitor_id,
        session_id=session.session_id,
        started_at=session.started_at,
    )


OPERATIONS = (get_paths, list_path_sessions)
