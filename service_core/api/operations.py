"""Endpoints for health, readiness and the OpenAPI document."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from service_core.api.host_routes import HOST_ROUTES
from service_core.api.openapi import HostUrls, build_openapi
from service_core.api.readiness import ReadinessChecker
from service_core.api.schemas import HealthResponse, HealthStatus, ReadinessResponse
from service_core.kernel.operations import HandlerResponse, Operation, RateLimitClass, RoutePrefix, operation


class OpenApiDocument:
    """The OpenAPI document of the composed operations, built on first use."""

    def __init__(self, operations: Sequence[Operation], host_urls: HostUrls) -> None:
        self._operations = operations
        self._host_urls = host_urls

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The document as JSON values."""
        return build_openapi(
            self._operations,
            public_url=self._host_urls.api,
            host_routes=HOST_ROUTES,
            host_urls=self._host_urls,
        )


@operation("GET /health", scope=None, rate_limit=RateLimitClass.NONE, prefix=RoutePrefix.ROOT, tag="service")
async def get_health() -> HealthResponse:
    """Report that the process answers. Uses no store."""
    return HealthResponse()


@operation(
    "GET /ready",
    scope=None,
    rate_limit=RateLimitClass.NONE,
    prefix=RoutePrefix.ROOT,
    tag="service",
    statuses=(200, 503),
)
async def get_ready(*, checker: ReadinessChecker) -> HandlerResponse[ReadinessResponse]:
    """Report whether stores, queue and limits are available.

    Degraded, with status 503, when one of them does not answer, when a disk is full or takes no writes, when an event
    has waited for more than 5 minutes, when the ledger does not balance, or when another version of Touchpoint has
    written a store; `problems` has the sentence with which a start would be refused.
    """
    report = await checker.report_at_most_one_second_old()
    answer = ReadinessResponse(
        status=_status_text(report.ok),
        checks={name: _status_text(ok) for name, ok in report.checks.items()},
        queue_age_seconds=report.queue_age_seconds,
        newest_event_at=report.newest_event_at,
        problems=list(report.problems),
    )
    return HandlerResponse(answer, 200 if report.ok else 503)


@operation(
    "GET /openapi.json", scope=None, rate_limit=RateLimitClass.NONE, prefix=RoutePrefix.ROOT, tag="service"
)
async def get_description(*, document: OpenApiDocument) -> dict[str, Any]:
    """Describe every operation, as OpenAPI 3.1."""
    return dict(document.document)


def _status_text(ok: bool) -> HealthStatus:
    return "ok" if ok else "degraded"


OPERATIONS = (get_health, get_ready, get_description)
