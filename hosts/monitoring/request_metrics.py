"""Counts requests by route and status; a path is never a label, so clients cannot create labels."""

import time
from collections.abc import Callable
from typing import Final

from hosts.asgi import App, Message, Receive, Scope, Send
from hosts.monitoring import prometheus_metrics

OTHER_METHOD: Final = "(other)"
"""The route of what belongs to no operation: pages, unknown paths."""

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def count_and_time_requests(
    app: App, metrics_host_label: str, route_template: Callable[[str, str], str | None]
) -> App:
    """Returns ``app`` with requests counted and timed; see `hosts.monitoring.instrument_app_if_enabled`."""

    async def count_and_time_request(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"]
        route = route_template(method, scope["path"]) or OTHER_METHOD
        try:
            await app(scope, receive, send_and_note_status)
        finally:
            prometheus_metrics.REQUESTS.labels(
                metrics_host_label, method if method in _METHODS else OTHER_METHOD, route, status
            ).inc()
            prometheus_metrics.REQUEST_SECONDS.labels(metrics_host_label, route).observe(
                time.perf_counter() - began
            )

    return count_and_time_request
