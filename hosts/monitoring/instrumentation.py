"""Instruments adapters: their calls are counted and timed."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from hosts.composition.adapter_wrappers import WrappedAdapter, awaitable_methods
from hosts.composition.ports import PORTS
from hosts.composition.watched_calls import PluginCall
from hosts.monitoring import prometheus_metrics
from service_core.ingestion.ports import EnqueueResult, EventStore
from service_core.ingestion.transforms.run_transforms import TransformUse

AsyncMethod = Callable[..., Awaitable[Any]]

READ_METHODS: Final = awaitable_methods(
    *(protocol for protocol in PORTS["events"].adapter_attribute_by_protocol if protocol is not EventStore)
)
"""Questions to the event store that are timed: whatever its ports ask, but for the side that writes."""


def instrument_queue_or_event_store(port: str, adapter: Any) -> Any:
    """Returns the adapter instrumented; adapters of other ports are returned unchanged."""
    watches = _WRAPPERS.get(port, {})
    methods = {name: around(getattr(adapter, name), name) for name, around in watches.items()}
    return WrappedAdapter(adapter, methods) if methods else adapter


def record_plugin_call(call: PluginCall) -> None:
    """Counts and times a call of a plugin."""
    prometheus_metrics.PLUGIN_CALL_SECONDS.labels(call.plugin, call.method).observe(call.seconds)
    if call.is_fault:
        prometheus_metrics.PLUGIN_FAULTS.labels(call.plugin, call.method).inc()


def record_transform_use(plugin: str, use: TransformUse) -> None:
    """Times the calls of a transform in a batch, counts those that failed, and sets whether it is left out."""
    prometheus_metrics.PLUGIN_CALL_SECONDS.labels(plugin, use.transform_id).observe(use.seconds)
    if use.failures:
        prometheus_metrics.PLUGIN_FAULTS.labels(plugin, use.transform_id).inc(use.failures)
    prometheus_metrics.PLUGIN_LEFT_OUT.labels(plugin, use.transform_id).set(use.is_left_out)


def instrument_event_appends(store: Any) -> Any:
    """Returns an event store with its appends timed and counted, and nothing else."""
    return WrappedAdapter(store, {"append": _with_append_timed_and_lag_observed(store.append, "append")})


def _with_offer_outcome_counted(offer: AsyncMethod, _: str) -> AsyncMethod:
    async def offer_and_count_outcome(arrival: Any) -> Any:
        try:
            outcome = await offer(arrival)
        except Exception:
            prometheus_metrics.OFFERED_EVENTS.labels("failed").inc()
            raise
        prometheus_metrics.OFFERED_EVENTS.labels(outcome.value).inc()
        return outcome

    return offer_and_count_outcome


def _with_batch_offer_outcomes_counted(offer_all: AsyncMethod, _: str) -> AsyncMethod:
    async def offer_all_and_count_outcomes(arrivals: Any) -> Any:
        try:
            outcomes = await offer_all(arrivals)
        except Exception:
            prometheus_metrics.OFFERED_EVENTS.labels("failed").inc(len(arrivals))
            raise
        for outcome in outcomes:
            prometheus_metrics.OFFERED_EVENTS.labels(
                outcome.value if isinstance(outcome, EnqueueResult) else "failed"
            ).inc()
        return outcomes

    return offer_all_and_count_outcomes


def _with_rejections_counted(count_rejected: AsyncMethod, _: str) -> AsyncMethod:
    async def count_rejection(
        workspace_id: Any, key_id: Any, channel: Any, reason: Any, at: datetime, *, event_count: int = 1
    ) -> Any:
        prometheus_metrics.OFFERED_EVENTS.labels(f"rejected_{reason.value}").inc(event_count)
        return await count_rejected(workspace_id, key_id, channel, reason, at, event_count=event_count)

    return count_rejection


def _with_duplicates_counted(count_duplicate: AsyncMethod, _: str) -> AsyncMethod:
    async def count_duplicate_in_metrics(*known: Any) -> Any:
        prometheus_metrics.OFFERED_EVENTS.labels(EnqueueResult.DUPLICATE.value).inc()
        return await count_duplicate(*known)

    return count_duplicate_in_metrics


def _with_deleted_quarantine_counted(delete_quarantined_before: AsyncMethod, _: str) -> AsyncMethod:
    async def delete_and_count(before: datetime) -> Any:
        deleted = await delete_quarantined_before(before)
        prometheus_metrics.QUARANTINE_DELETED.inc(sum(deleted.values()))
        return deleted

    return delete_and_count


def _with_queue_size_and_age_measured(queue_state: AsyncMethod, _: str) -> AsyncMethod:
    async def read_and_measure() -> Any:
        queue_state_now = await queue_state()
        prometheus_metrics.QUEUED_EVENTS.set(queue_state_now.waiting_count)
        oldest = queue_state_now.oldest_received_at
        prometheus_metrics.QUEUE_AGE.set(_seconds_since(oldest) if oldest else 0)
        return queue_state_now

    return read_and_measure


def _with_append_timed_and_lag_observed(append: AsyncMethod, _: str) -> AsyncMethod:
    async def append_timed_and_observe_lag(events: Any) -> Any:
        with prometheus_metrics.APPEND_SECONDS.time():
            new = await append(events)
        prometheus_metrics.STORED_EVENTS.inc(new)
        if events:
            prometheus_metrics.CONSUMER_LAG_SECONDS.observe(
                _seconds_since(min(event.received_at for event in events))
            )
        return new

    return append_timed_and_observe_lag


def _with_read_timed_and_errors_counted(read: AsyncMethod, method_name: str) -> AsyncMethod:
    async def read_timed_and_count_errors(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            answer = await read(*args, **kwargs)
        except Exception as fault:
            prometheus_metrics.READ_ERRORS.labels(method_name, type(fault).__name__).inc()
            raise
        prometheus_metrics.READ_SECONDS.labels(method_name).observe(time.perf_counter() - began)
        return answer

    return read_timed_and_count_errors


def _seconds_since(moment: datetime) -> float:
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())


_WRAPPERS: Final[Mapping[str, Mapping[str, Callable[[AsyncMethod, str], AsyncMethod]]]] = {
    "queue": {
        "offer": _with_offer_outcome_counted,
        "offer_all": _with_batch_offer_outcomes_counted,
        "count_rejected": _with_rejections_counted,
        "count_duplicate": _with_duplicates_counted,
        "delete_quarantined_before": _with_deleted_quarantine_counted,
        "state": _with_queue_size_and_age_measured,
    },
    "events": {
        "append": _with_append_timed_and_lag_observed,
        **dict.fromkeys(READ_METHODS, _with_read_timed_and_errors_counted),
    },
}
"""Port -> method -> what is put around it."""
