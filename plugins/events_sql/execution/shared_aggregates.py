"""Shares the runs of aggregates: equal ones run once, and those with the same credit rule share its tables.

An aggregate joins a run that has not begun, which reads everything written before. It joins a run that has begun only
where all writes pass this process and none has run since the run was scheduled, so that the answer is the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from service_core.plugin import AggregateQuery, AggregateResult, Aggregation, Relation

RunAggregates = Callable[[Sequence[AggregateQuery]], Awaitable[list[AggregateResult]]]


@dataclass
class _Run:
    """A scheduled or running read of several aggregates.

    Attributes:
        ended_writes: how many writes had ended when it was scheduled; None when one was running.
        queries: the aggregates it answers.
        is_open: whether it has not begun, so that further aggregates may join.
        waiting: the number of callers.
    """

    ended_writes: int | None
    queries: list[AggregateQuery] = field(default_factory=list)
    is_open: bool = True
    waiting: int = 0
    task: asyncio.Task[list[AggregateResult]] | None = None

    def index_of_equal_query(self, query: AggregateQuery) -> int | None:
        """Returns the position of an equal aggregate; None when the run has none."""
        return next((i for i, other in enumerate(self.queries) if _is_same(other, query)), None)

    def shares_credits_with(self, query: AggregateQuery) -> bool:
        """Returns whether an aggregate reads the same table of credits."""
        first = self.queries[0]
        return (
            _reads_credits_of_span(first)
            and _reads_credits_of_span(query)
            and _is_same((first.scope, first.credit), (query.scope, query.credit))
        )


class SharedAggregates:
    """Answers aggregates, several by one run where that gives the same answers.

    Args:
        run: answers aggregates in one read.
        ended_writes_unless_writing: returns how many writes of this process have ended, None while one runs.
        is_only_writer: whether all writes of the store pass this process.
    """

    def __init__(
        self,
        run: RunAggregates,
        ended_writes_unless_writing: Callable[[], int | None],
        *,
        is_only_writer: bool,
    ) -> None:
        self._run_aggregates = run
        self._ended_writes_unless_writing = ended_writes_unless_writing
        self._is_only_writer = is_only_writer
        self._runs: list[_Run] = []

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns the result of an aggregate; the run is cancelled when all its callers have gone."""
        run, index = self._join_or_schedule(query)
        assert run.task is not None
        run.waiting += 1
        try:
            result = (await asyncio.shield(run.task))[index]
        finally:
            run.waiting -= 1
            if not run.waiting:
                await self._cancel_unless_done(run)
        return replace(result, rows=list(result.rows))

    def _join_or_schedule(self, query: AggregateQuery) -> tuple[_Run, int]:
        """Returns the run that answers an aggregate, and its position there."""
        for run in self._runs:
            if self._may_join(run) and (index := run.index_of_equal_query(query)) is not None:
                return run, index
        for run in self._runs:
            if run.is_open and run.shares_credits_with(query):
                run.queries.append(query)
                return run, len(run.queries) - 1
        run = _Run(self._ended_writes_unless_writing(), [query])
        self._runs.append(run)
        run.task = asyncio.create_task(self._begin_after_others_joined(run))
        return run, 0

    def _may_join(self, run: _Run) -> bool:
        """Returns whether a run reads everything that was written until now."""
        if run.is_open:
            return True
        ended_writes = self._ended_writes_unless_writing()
        return self._is_only_writer and ended_writes is not None and ended_writes == run.ended_writes

    async def _begin_after_others_joined(self, run: _Run) -> list[AggregateResult]:
        """Answers a run after the other tasks of this moment have had their turn to join."""
        try:
            if _reads_credits_of_span(run.queries[0]):
                await asyncio.sleep(0)
            run.is_open = False
            return await self._run_aggregates(run.queries)
        finally:
            self._runs.remove(run)

    async def _cancel_unless_done(self, run: _Run) -> None:
        """Cancels a run and waits until its thread is free."""
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait({run.task})


def _is_same(first: object, second: object) -> bool:
    """Returns whether two values are equal; the repr distinguishes 1, 1.0 and true, which are equal in Python."""
    return first == second and repr(first) == repr(second)


def _reads_credits_of_span(query: AggregateQuery) -> bool:
    """Returns whether an aggregate counts credits, all of them in its span."""
    credited = [
        aggregation
        for measure in query.measures
        for aggregation in measure.aggregations()
        if aggregation.relation is Relation.CREDITS
    ]
    return query.credit is not None and bool(credited) and not any(map(_is_trailing, credited))


def _is_trailing(aggregation: Aggregation) -> bool:
    return aggregation.trailing_days is not None
