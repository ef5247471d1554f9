"""Many callers, one call at a time: while it is on its way, those who come gather for the next one.

Nothing waits for a timer. Alone, a caller is served at once; under load the length of a call sets
how many share the next.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
F = TypeVar("F", bound=Exception)


class CallBatcher(Generic[Q, A]):
    """Puts the questions of many callers into few calls, on one event loop.

    Args:
        call: answers several questions in order.
        failure: makes the exception of one caller from what `call` raised. Callers who wait for
            the next call get it too: the same would happen to them, only later.
        at_most: questions of one call.
    """

    def __init__(
        self,
        call: Callable[[Sequence[Q]], Awaitable[Sequence[A]]],
        map_error: Callable[[Exception], Exception],
        max_batch_size: int,
    ) -> None:
        self._call = call
        self._map_error = map_error
        self._max_batch_size = max_batch_size
        self._pending: list[tuple[Q, asyncio.Future[A]]] = []
        self._in_flight: list[tuple[Q, asyncio.Future[A]]] = []
        self._runner: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Callers without an answer yet."""
        return len(self._pending) + len(self._in_flight)

    def submit(self, item: Q) -> asyncio.Future[A]:
        """The answer, once a call has brought it."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._pending.append((item, future))
        if self._runner is None:
            self._runner = asyncio.create_task(self._run_calls())
        return future

    async def wait_idle(self) -> None:
        """Wait until nobody waits any more."""
        while self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run_calls(self) -> None:
        try:
            while self._pending:
                self._in_flight = self._pending[: self._max_batch_size]
                del self._pending[: self._max_batch_size]
                await self._run_call()
        finally:
            self._runner = None

    async def _run_call(self) -> None:
        try:
            answers = await self._call([question for question, _ in self._in_flight])
        except Exception as fault:  # noqa: BLE001 - whatever it was, every caller must hear of it
            self._reject_all(fault)
        else:
            for (_, future), answer in zip(self._in_flight, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        self._in_flight = []

    def _reject_all(self, fault: Exception) -> None:
        hit = self._in_flight + self._pending
        self._pending = []
        for _, future in hit:
            if not future.done():
                future.set_exception(self._map_error(fault))


async def gather_results(futures: Sequence[asyncio.Future[A]], expected_error: type[F]) -> list[A | F]:
    """What became of each, once all are decided; an expected failure stands in the place of its answer.

    Answers of one call come at once: to wait for the first is to wait for all.

    Args:
        asked: futures nobody else waits for.
        failure: the exception that is an outcome; any other is raised.
    """
    found: list[A | F] = []
    try:
        for future in futures:
            try:
                found.append(await future)
            except expected_error as fault:
                found.append(fault)
    finally:
        for future in futures[len(found) :]:
            future.cancel()
    return found
