"""The Prometheus metrics. `docs/deployers/monitoring.md` explains them and when to alert.

They are written to the folder `hosts.monitoring.FOLDER` names, so they add up over all processes. This
module loads the metrics library: it is imported only where metrics are shown.
"""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_FAST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 22.5)
_SLOW_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)

REQUESTS: Final = Counter("touchpoint_requests", "Requests answered.", ["host", "method", "route", "status"])
REQUEST_SECONDS: Final = Histogram(
    "touchpoint_request_seconds", "From the first byte read to the last one written.", ["host", "route"],
    buckets=_FAST_BUCKETS,
)  # fmt: skip
OFFERED_EVENTS: Final = Counter("touchpoint_events", "Events offered to the queue, by outcome.", ["outcome"])
QUEUED_EVENTS: Final = Gauge(
    "touchpoint_queue_events", "Events accepted and not stored yet.", multiprocess_mode="mostrecent"
)
QUEUE_AGE: Final = Gauge(
    "touchpoint_queue_age_seconds", "How long the oldest of them has waited.", multiprocess_mode="mostrecent"
)
QUARANTINE_DELETED: Final = Counter(
    "touchpoint_quarantine_forgotten", "Events that could not be stored and were kept for long enough."
)
STORED_EVENTS: Final = Counter("touchpoint_events_stored", "Events that are new in the event store.")
APPEND_SECONDS: Final = Histogram(
    "touchpoint_append_seconds", "One batch into the event store.", buckets=_FAST_BUCKETS
)
CONSUMER_LAG_SECONDS: Final = Histogram(
    "touchpoint_consumer_lag_seconds", "From receipt to stored, of the oldest event of each batch.",
    buckets=_SLOW_BUCKETS,
)  # fmt: skip
READ_SECONDS: Final = Histogram(
    "touchpoint_store_read_seconds", "One question to the event store.", ["read"], buckets=_FAST_BUCKETS
)
READ_ERRORS: Final = Counter(
    "touchpoint_store_read_faults", "Questions the event store did not answer.", ["read", "fault"]
)
PLUGIN_CALL_SECONDS: Final = Histogram(
    "touchpoint_plugin_call_seconds", "One call of a plugin, or all calls of a transform in a batch.", ["plugin", "method"],
    buckets=_FAST_BUCKETS,
)  # fmt: skip
PLUGIN_FAULTS: Final = Counter(
    "touchpoint_plugin_faults", "Calls of a plugin that raised an undeclared exception.",
    ["plugin", "method"],
)  # fmt: skip
PLUGIN_LEFT_OUT: Final = Gauge(
    "touchpoint_plugin_left_out", "Whether a transform of a plugin is left out because it keeps failing: 1 or 0.",
    ["plugin", "transform"], multiprocess_mode="livemax",
)  # fmt: skip
EXPORT_JOBS: Final = Gauge(
    "touchpoint_exports", "Export jobs by state.", ["status"], multiprocess_mode="mostrecent"
)
PROCESSES_ENDED: Final = Counter(
    "touchpoint_processes_ended", "Processes that ended unasked and were started again.", ["process"]
)
CANARY_LAG_SECONDS: Final = Gauge(
    "touchpoint_canary_lag_seconds", "From offer to visible in the store, of the latest canary event.",
    multiprocess_mode="mostrecent",
)  # fmt: skip
CANARY_SEEN_TIMESTAMP: Final = Gauge(
    "touchpoint_canary_seen_timestamp_seconds", "When a canary event was last seen in the store.",
    multiprocess_mode="mostrecent",
)  # fmt: skip
PROBE_STATE: Final = Gauge(
    "touchpoint_check", "What the probes of a process see: 1 holds, 0 does not.", ["role", "check"],
    multiprocess_mode="livemin",
)  # fmt: skip
HEARTBEAT_TIMESTAMP: Final = Gauge(
    "touchpoint_heartbeat_timestamp_seconds", "When the process of a role longest silent last gave a sign.",
    ["role"], multiprocess_mode="livemin",
)  # fmt: skip
