"""One tree of refusals: every answer that is not a success is one of these values.

A refusal knows its HTTP status, its stable ``code`` and the extra fields of its body; a host only
renders it (contract 2.5, 15.2). `CODES` is the whole registry: a refusal with a code that does not
stand there cannot be built, so a code can neither be misspelt nor be forgotten in the reference.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

ERROR_CODES: Final[Mapping[int, frozenset[str]]] = {
    400: frozenset(
        {
            "invalid_json", "unknown_field", "missing_field", "invalid_parameter",
            "invalid_date_range", "missing_date_range", "conflicting_date_range", "range_too_long",
            "window_exceeded", "missing_query", "invalid_property_filters", "invalid_steps",
            "unknown_metric", "too_many_metrics", "unknown_dimension", "too_many_dimensions",
            "incompatible_dimension", "invalid_filter", "too_many_filters", "too_many_cards",
            "invalid_interval", "invalid_cursor", "invalid_attribution", "workspace_id_not_allowed",
            "unknown_filter", "invalid_platform", "invalid_level", "invalid_idempotency_key",
            "invalid_email", "unknown_scope",
            "missing_range", "invalid_date", "range_inverted", "not_hour_aligned", "end_in_future",
            "too_many_rows",
        }
    ),
    403: frozenset(
        {
            "insufficient_scope", "oauth_required", "role_required", "owner_required",
            "plan_feature", "workspace_inactive", "invalid_signature", "internal_credential_required",
        }
    ),
    409: frozenset(
        {
            "stale_update", "duplicate_rule", "slug_taken", "undo_create_unsupported",
            "already_undone", "resource_changed", "not_undoable", "idempotency_in_progress", "import_changed",
        }
    ),
    413: frozenset({"payload_too_large"}),
    422: frozenset(
        {
            "unknown_report", "duplicate_report", "unknown_card", "too_many_cards",
            "invalid_layout", "invalid_filter", "invalid_field", "immutable_field", "invalid_url",
            "invalid_slug", "unknown_domain", "platform_not_connected", "unknown_asset",
            "invalid_platform_event", "invalid_plan", "invalid_definition", "invalid_steps",
            "unknown_metric", "kind_mismatch", "report_not_listed", "unknown_object",
            "insufficient_data", "rows_rejected",
        }
    ),
    429: frozenset({"rate_limited", "mutation_rate_limited", "too_many_exports", "signup_rate_limited"}),
    500: frozenset({"internal_error"}),
    503: frozenset(
        {
            "limiter_unavailable", "data_unverified", "ads_unavailable", "query_timeout",
            "queue_unavailable", "checkout_unavailable", "mail_unavailable", "links_unavailable",
            "revenue_unverified", "spend_unverified", "costs_unverified",
        }
    ),
}  # fmt: skip
"""Status -> the codes that may stand in its body (contract 15.2)."""


class ApiError(Exception):
    """An answer that is not a success.

    Args:
        message: the one sentence of ``error``; consumers never branch on it.
        code: stable code of the registry; None for the bodies that carry ``error`` only.
        field: the offending parameter or JSON path.
        hint: one sentence that says what to do.
        headers: extra response headers.
        extra: further body fields (``required_scope``, ``current_updated_at``...).
    """

    status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        code: str | None = None,
        *,
        field: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        if code is not None and code not in ERROR_CODES.get(self.status, frozenset()):
            raise ValueError(f"code {code!r} is not registered for status {self.status}")
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.hint = hint
        self.headers: Mapping[str, str] = headers or {}
        self.extra: Mapping[str, object] = extra or {}

    def body(self) -> dict[str, object]:
        """The JSON object of the answer: ``error`` first, then what is known."""
        known = {"code": self.code, "field": self.field, "hint": self.hint}
        return {"error": self.message} | {k: v for k, v in known.items() if v is not None} | dict(self.extra)


class BadRequest(ApiError):
    """The request is malformed: nothing was done."""

    status = 400


class Unauthorized(ApiError):
    """No credential, or one that matches nothing (contract 2.2)."""

    status = 401


class Forbidden(ApiError):
    """The credential is known and may not do this."""

    status = 403


class NotFound(ApiError):
    """The path is no endpoint, or the workspace has no such resource."""

    status = 404

    def __init__(self) -> None:
        super().__init__("Not found")


class MethodNotAllowed(ApiError):
    """The path exists, not for this method."""

    status = 405

    def __init__(self, allow: tuple[str, ...]) -> None:
        super().__init__("Method not allowed", headers={"Allow": ", ".join(allow)})


class Conflict(ApiError):
    """The state of the resource refuses the change."""

    status = 409


class Gone(ApiError):
    """What stood here was withdrawn, or its time is over."""

    status = 410


class PayloadTooLarge(ApiError):
    """The body is over the limit."""

    status = 413


class Unprocessable(ApiError):
    """Well-formed, and against a rule of the domain."""

    status = 422


class TooManyRequests(ApiError):
    """A budget is used up; carries ``Retry-After``."""

    status = 429


class ServiceUnavailable(ApiError):
    """The answer could not be verified: unknown, never zero (contract 2.5)."""

    status = 503


class StartupError(Exception):
    """The process cannot start as configured; the message says what to change."""
