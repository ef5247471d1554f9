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


class Shared(Generic[Q, A]):
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
        failure: Callable[[Exception], Exception],
        at_most: int,
    ) -> None:
        self._call = call
        self._failure = failure
        self._at_most = at_most
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._asked: list[tuple[Q, asyncio.Future[A]]] = []
        self._calling: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Callers without an answer yet."""
        return len(self._waiting) + len(self._asked)

    def ask(self, question: Q) -> asyncio.Future[A]:
        """The answer, once a call has brought it."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._calling is None:
            self._calling = asyncio.create_task(self._serve())
        return future

    async def settled(self) -> None:
        """Wait until nobody waits any more."""
        while self._calling is not None:
            await asyncio.wait([self._calling])

    async def _serve(self) -> None:
        try:
            while self._waiting:
                self._asked = self._waiting[: self._at_most]
                del self._waiting[: self._at_most]
                await self._answer()
        finally:
            self._calling = None

    async def _answer(self) -> None:
        try:
            answers = await self._call([question for question, _ in self._asked])
        except Exception as fault:  # noqa: BLE001 - whatever it was, every caller must hear of it
            self._fail(fault)
        else:
            for (_, future), answer in zip(self._asked, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        self._asked = []

    def _fail(self, fault: Exception) -> None:
        hit = self._asked + self._waiting
        self._waiting = []
        for _, future in hit:
            if not future.done():
                future.set_exception(self._failure(fault))


async def outcomes(asked: Sequence[asyncio.Future[A]], failure: type[F]) -> list[A | F]:
    """What became of each, once all are decided; an expected failure stands in the place of its answer.

    Answers of one call come at once: to wait for the first is to wait for all.

    Args:
        asked: futures nobody else waits for.
        failure: the exception that is an outcome; any other is raised.
    """
    found: list[A | F] = []
    try:
        for future in asked:
            try:
                found.append(await future)
            except failure as fault:
                found.append(fault)
    finally:
        for future in asked[len(found) :]:
            future.cancel()
    return found
