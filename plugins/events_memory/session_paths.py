"""Reads the nodes before and after a chosen page or event in the sessions of a span."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from plugins.events_memory.relation_rows import is_in_span, is_in_span_and_matches_filters
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    PAGE_VIEWS,
    Event,
    PathSession,
    PathSessionPage,
    PathSessionsQuery,
    PathsQuery,
    PathsResult,
    PathStep,
    PathStepCondition,
    event_time_key,
)


@dataclass(frozen=True, slots=True)
class _Path:
    """The event of the chosen node of a session, and the nodes of the steps from there."""

    chosen: Event
    steps: tuple[str, ...]


def read_paths(query: PathsQuery, nodes_per_step: int, history: WorkspaceEvents) -> PathsResult:
    """Returns the most frequent nodes of each step."""
    paths = list(_paths_of_sessions(query, history))
    steps = []
    for k in range(query.step_count):
        counts = Counter(path.steps[k] for path in paths if len(path.steps) > k)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        steps.append(PathStep(tuple(ordered[:nodes_per_step]), counts.total(), len(counts)))
    return PathsResult(len(paths), tuple(steps))


def list_path_sessions(query: PathSessionsQuery, history: WorkspaceEvents) -> PathSessionPage:
    """Returns a page of the sessions that meet a condition."""
    chosen = [
        path.chosen
        for path in _paths_of_sessions(query.paths, history)
        if _path_has_step_with_node(path, query.condition)
    ]
    chosen.sort(key=event_time_key, reverse=True)
    page = chosen[query.offset : query.offset + query.limit]
    sessions = [
        PathSession(history.person_of(event), event.visitor_id, event.session_id, event.timestamp)
        for event in page
    ]
    return PathSessionPage(sessions, len(chosen))


def _path_has_step_with_node(path: _Path, condition: PathStepCondition) -> bool:
    if condition.step == 0:
        return True
    has_step = len(path.steps) >= condition.step
    if condition.is_end or not has_step:
        return condition.is_end and not has_step
    node = path.steps[condition.step - 1]
    return condition.node in {None, node} and node not in condition.other_than


def _paths_of_sessions(query: PathsQuery, history: WorkspaceEvents) -> Iterator[_Path]:
    """Yields the path of each session with the chosen node."""
    for events in history.events_by_session.values():
        nodes = _nodes_without_repeats(query, events)
        place = next(
            (
                i
                for i, (event, node) in enumerate(nodes)
                if node in query.start and is_in_span_and_matches_filters(query.scope, event, history)
            ),
            None,
        )
        if place is None:
            continue
        following = reversed(nodes[:place]) if query.backward else nodes[place + 1 :]
        steps = tuple(node for _, node in following)[: query.step_count]
        if steps[: len(query.through)] == query.through:
            yield _Path(nodes[place][0], steps)


def _nodes_without_repeats(query: PathsQuery, events: list[Event]) -> list[tuple[Event, str]]:
    """Returns the nodes of the events in the span; of consecutive equal ones the first."""
    nodes: list[tuple[Event, str]] = []
    for event in events:
        if not is_in_span(query.scope.span, event.timestamp):
            continue
        node = _node(query, event)
        if node is not None and (not nodes or nodes[-1][1] != node):
            nodes.append((event, node))
    return nodes


def _node(query: PathsQuery, event: Event) -> str | None:
    if not query.by_page:
        return event.event_name
    return event.page_path if event.event_name in PAGE_VIEWS else None
