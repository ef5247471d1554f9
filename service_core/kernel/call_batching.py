"""Batches concurrent calls: requests that arrive while a call runs are sent together in the next call.

No timer is involved. A single request is sent at once; under load the duration of a call sets the batch size.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
F = TypeVar("F", bound=Exception)


class CallBatcher(Generic[Q, A]):
    """Combines items of concurrent callers into batch calls, on one event loop.

    Args:
        call: processes several items and returns one result per item, in order.
        map_error: creates the exception for one caller from the exception `call` raised. Callers who wait for the next
            call get it too, because the next call would most likely fail in the same way.
        max_batch_size: most items in one call.
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
        """Returns the number of items without a result."""
        return len(self._pending) + len(self._in_flight)

    def submit_for_next_batch(self, item: Q) -> asyncio.Future[A]:
        """Adds an item and returns the future of its result."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._pending.append((item, future))
        if self._runner is None:
            self._runner = asyncio.create_task(self._run_batches_until_none_pending())
        return future

    async def wait_idle(self) -> None:
        """Waits until no item is left without a result."""
        while self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run_batches_until_none_pending(self) -> None:
        try:
            while self._pending:
                self._in_flight = self._pending[: self._max_batch_size]
                del self._pending[: self._max_batch_size]
                await self._call_batch_and_resolve_futures()
        finally:
            self._runner = None

    async def _call_batch_and_resolve_futures(self) -> None:
        try:
            results = await self._call([item for item, _ in self._in_flight])
        except Exception as error:  # noqa: BLE001 - every caller gets the error
            self._reject_in_flight_and_pending(error)
        else:
            for (_, future), result in zip(self._in_flight, results, strict=True):
                if not future.done():
                    future.set_result(result)
        self._in_flight = []

    def _reject_in_flight_and_pending(self, error: Exception) -> None:
        items = self._in_flight + self._pending
        self._pending = []
        for _, future in items:
            if not future.done():
                future.set_exception(self._map_error(error))


async def gather_results_or_expected_errors(
    futures: Sequence[asyncio.Future[A]], expected_error: type[F]
) -> list[A | F]:
    """Returns the results of the futures after all have finished; an expected exception takes the place of its result.

    Results of one batch arrive together, so waiting for them in order costs nothing.

    Args:
        futures: futures that nobody else awaits; they are cancelled when this call is cancelled.
        expected_error: the exception type returned as a result. Any other exception is raised.
    """
    results: list[A | F] = []
    try:
        for future in futures:
            try:
                results.append(await future)
            except expected_error as error:
                results.append(error)
    finally:
        for future in futures[len(results) :]:
            future.cancel()
    return results
