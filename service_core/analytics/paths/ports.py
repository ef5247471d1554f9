"""Port for path queries of the event store: what comes before and after a page or an event in a session."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from service_core.analytics.ports import QueryScope


@dataclass(frozen=True, slots=True)
class PathsQuery:
    """A query for the steps after, or before, a chosen page or event in the sessions of a span.

    The nodes of a session are the paths of its page views, or the names of its events, in the span; consecutive equal
    ones count once, by their first event. A session starts at its first chosen node whose event meets the filters of
    the scope; without one it is not counted.

    Attributes:
        scope: the span and the filters of the chosen node.
        by_page: nodes are paths of page views; otherwise names of events.
        start: the nodes that may be chosen: a path, or an event name with its synonyms.
        backward: steps lead backward from the chosen node.
        step_count: number of steps.
        through: nodes of the first steps; only sessions with all of them are counted.
    """

    scope: QueryScope
    by_page: bool
    start: frozenset[str]
    backward: bool
    step_count: int
    through: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step: its most frequent nodes with their sessions, ties by name, and all sessions and nodes of the step."""

    nodes: tuple[tuple[str, int], ...]
    sessions: int
    node_count: int


@dataclass(frozen=True, slots=True)
class PathsResult:
    """The number of sessions, and one entry per step."""

    sessions: int
    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class PathStepCondition:
    """What the session has at a step.

    Attributes:
        step: number of the step, from 1; 0 for the chosen node.
        node: the node of the step; None for any.
        other_than: nodes that the step does not have.
        is_end: the session has no such step.
    """

    step: int = 0
    node: str | None = None
    other_than: frozenset[str] = field(default_factory=frozenset)
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class PathSessionsQuery:
    """A query for a page of the sessions of paths that meet a condition."""

    paths: PathsQuery
    condition: PathStepCondition
    limit: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class PathSession:
    """A session of a path: person, visitor and time of the event of the chosen node."""

    person: str
    visitor_id: str
    session_id: str
    started_at: datetime


class PathSessionPage(NamedTuple):
    """A page of the sessions that meet a condition, and how many meet it on all pages."""

    sessions: list[PathSession]
    total_count: int


class PathReader(Protocol):
    """Path queries by session."""

    async def read_paths(self, query: PathsQuery, nodes_per_step: int) -> PathsResult:
        """Returns the most frequent nodes of each step."""

    async def list_path_sessions(self, query: PathSessionsQuery) -> PathSessionPage:
        """Returns the sessions that meet a condition, latest chosen node first, equals by sequence number."""
