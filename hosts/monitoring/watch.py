"""Adapters with what they do counted and timed; the ports and those who use them know nothing of it."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from hosts.composition.container import PORTS
from hosts.composition.wrapping import Around, asked
from hosts.monitoring import meters
from service_core.intake.ports import EventStore, Offer

Method = Callable[..., Awaitable[Any]]

READS: Final = asked(*(port for port in PORTS["events"] if port is not EventStore))
"""Questions to the event store that are timed: whatever its ports ask, but for the side that writes."""


def watch(port: str, adapter: Any) -> Any:
    """The adapter, watched; those of other ports are given back as they are."""
    watches = _WATCHES.get(port, {})
    methods = {name: around(getattr(adapter, name), name) for name, around in watches.items()}
    return Around(adapter, methods) if methods else adapter


def _offer(offer: Method, _: str) -> Method:
    async def counted(arrival: Any) -> Any:
        try:
            outcome = await offer(arrival)
        except Exception:
            meters.EVENTS.labels("failed").inc()
            raise
        meters.EVENTS.labels(outcome.value).inc()
        return outcome

    return counted


def _offer_all(offer_all: Method, _: str) -> Method:
    async def counted(arrivals: Any) -> Any:
        try:
            outcomes = await offer_all(arrivals)
        except Exception:
            meters.EVENTS.labels("failed").inc(len(arrivals))
            raise
        for outcome in outcomes:
            meters.EVENTS.labels(outcome.value if isinstance(outcome, Offer) else "failed").inc()
        return outcomes

    return counted


def _reject(reject: Method, _: str) -> Method:
    async def counted(
        workspace_id: Any, key_id: Any, channel: Any, reason: Any, at: datetime, *, events: int = 1
    ) -> Any:
        meters.EVENTS.labels(f"rejected_{reason.value}").inc(events)
        return await reject(workspace_id, key_id, channel, reason, at, events=events)

    return counted


def _repeat(repeat: Method, _: str) -> Method:
    async def counted(*known: Any) -> Any:
        meters.EVENTS.labels(Offer.DUPLICATE.value).inc()
        return await repeat(*known)

    return counted


def _forget(forget: Method, _: str) -> Method:
    async def counted(before: datetime) -> Any:
        gone = await forget(before)
        meters.FORGOTTEN.inc(sum(gone.values()))
        return gone

    return counted


def _state(state: Method, _: str) -> Method:
    async def counted() -> Any:
        seen = await state()
        meters.WAITING.set(seen.waiting)
        oldest = seen.oldest_received_at
        meters.QUEUE_AGE.set(_age(oldest) if oldest else 0)
        return seen

    return counted


def _append(append: Method, _: str) -> Method:
    async def counted(events: Any) -> Any:
        with meters.APPEND_SECONDS.time():
            new = await append(events)
        meters.STORED.inc(new)
        if events:
            meters.LAG.observe(_age(min(event.received_at for event in events)))
        return new

    return counted


def _read(read: Method, name: str) -> Method:
    async def timed(*given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            answer = await read(*given, **named)
        except Exception as fault:
            meters.READ_FAULTS.labels(name, type(fault).__name__).inc()
            raise
        meters.READ_SECONDS.labels(name).observe(time.perf_counter() - began)
        return answer

    return timed


def _age(moment: datetime) -> float:
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())


_WATCHES: Final[Mapping[str, Mapping[str, Callable[[Method, str], Method]]]] = {
    "queue": {
        "offer": _offer,
        "offer_all": _offer_all,
        "reject": _reject,
        "repeat": _repeat,
        "forget": _forget,
        "state": _state,
    },
    "events": {"append": _append, **dict.fromkeys(READS, _read)},
}
"""Port -> method -> what is put around it."""
