"""Shares the runs of reads: equal queries run once, and queries that need the same temporary tables share these.

A query joins a run that has not begun, which reads everything written before. It joins a run that has begun only where
all writes pass this process and none has run since the run was scheduled, so that the answer is the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Q = TypeVar("Q")
R = TypeVar("R")

MAX_QUERIES_PER_RUN: Final = 8
"""Different queries that share a run, and so the time budget of one read."""


@dataclass(eq=False)
class _Run(Generic[Q, R]):
    """A scheduled or running read that answers several queries.

    Attributes:
        ended_writes: how many writes had ended when it was scheduled; None when one was running.
        queries: the queries it answers.
        is_open: whether it has not begun, so that further queries may join.
        waiting: the number of callers.
    """

    ended_writes: int | None
    queries: list[Q] = field(default_factory=list)
    is_open: bool = True
    waiting: int = 0
    task: asyncio.Task[list[R]] | None = None

    def index_of_equal_query(self, query: Q) -> int | None:
        """Returns the position of an equal query; None when the run has none."""
        return next((i for i, other in enumerate(self.queries) if is_same_value(other, query)), None)


class SharedReads(Generic[Q, R]):
    """Answers the queries of one kind of read, several by one run where that gives the same answers.

    Args:
        run: answers queries in one read.
        ended_writes_unless_writing: returns how many writes of this process have ended, None while one runs.
        is_only_writer: whether all writes of the store pass this process.
        copy_result: returns a result of its own for each caller.
        may_share_credit_or_payment_tables: returns whether two different queries need the same temporary tables.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Awaitable[list[R]]],
        ended_writes_unless_writing: Callable[[], int | None],
        *,
        is_only_writer: bool,
        copy_result: Callable[[R], R],
        may_share_credit_or_payment_tables: Callable[[Q, Q], bool] | None = None,
    ) -> None:
        self._run_queries = run
        self._ended_writes_unless_writing = ended_writes_unless_writing
        self._is_only_writer = is_only_writer
        self._copy_result = copy_result
        self._may_share_tables = may_share_credit_or_payment_tables
        self._runs: list[_Run[Q, R]] = []

    async def read(self, query: Q) -> R:
        """Returns the result of a query; the run is cancelled when all its callers have gone."""
        run, index = self._join_or_schedule(query)
        assert run.task is not None
        run.waiting += 1
        try:
            return self._copy_result((await asyncio.shield(run.task))[index])
        finally:
            run.waiting -= 1
            if not run.waiting:
                await self._cancel_unless_done(run)

    def _join_or_schedule(self, query: Q) -> tuple[_Run[Q, R], int]:
        """Returns the run that answers a query, and its position there."""
        for run in self._runs:
            if self._may_join(run) and (index := run.index_of_equal_query(query)) is not None:
                return run, index
        for run in self._runs:
            if self._may_join_with_shared_tables(run, query):
                run.queries.append(query)
                return run, len(run.queries) - 1
        run = _Run(self._ended_writes_unless_writing(), [query])
        self._runs.append(run)
        run.task = asyncio.create_task(self._begin_after_others_joined(run))
        return run, 0

    def _may_join_with_shared_tables(self, run: _Run[Q, R], query: Q) -> bool:
        """Returns whether an open run with less than 8 queries creates the tables that another query needs."""
        return (
            run.is_open
            and len(run.queries) < MAX_QUERIES_PER_RUN
            and self._may_share_tables is not None
            and self._may_share_tables(run.queries[0], query)
        )

    def _may_join(self, run: _Run[Q, R]) -> bool:
        """Returns whether a run reads everything that was written until now."""
        if not run.waiting:
            return False  # it is being cancelled
        if run.is_open:
            return True
        ended_writes = self._ended_writes_unless_writing()
        return self._is_only_writer and ended_writes is not None and ended_writes == run.ended_writes

    async def _begin_after_others_joined(self, run: _Run[Q, R]) -> list[R]:
        """Answers a run after the other tasks of this moment have had their turn to join."""
        try:
            query = run.queries[0]
            if self._may_share_tables and self._may_share_tables(query, query):
                await asyncio.sleep(0)
            run.is_open = False
            return await self._run_queries(run.queries)
        finally:
            self._runs.remove(run)

    async def _cancel_unless_done(self, run: _Run[Q, R]) -> None:
        """Cancels a run and waits until its thread is free."""
        if run.task is not None and not run.task.done():
            run.is_open = False
            run.task.cancel()
            await asyncio.wait({run.task})


def is_same_value(first: object, second: object) -> bool:
    """Returns whether two values are equal; the repr distinguishes 1, 1.0 and true, which are equal in Python."""
    return first == second and repr(first) == repr(second)
