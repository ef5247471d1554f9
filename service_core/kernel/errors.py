"""Errors of the API: each error response is an instance of one of these exceptions.

An `ApiError` knows its HTTP status, its stable ``code`` and the extra fields of its body; hosts only render it.
`ERROR_CODES` is the complete registry. An error with an unregistered code cannot be created, so a code can neither
be misspelt nor be missing in the reference.
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
            "invalid_email", "unknown_scope", "unknown_segment",
            "missing_range", "invalid_date", "range_inverted", "not_hour_aligned", "end_in_future",
            "too_many_rows", "answer_too_large", "no_receipt",
            "as_of_unavailable", "as_of_too_large",
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
            "already_undone", "plan_outdated", "plan_required", "plan_token_invalid", "too_many_approvals", "resource_changed", "not_undoable", "idempotency_in_progress", "import_changed",
            "wrong_import_status",
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
            "insufficient_data", "rows_rejected", "too_many_changes", "too_many_webhooks",
        }
    ),
    429: frozenset({"rate_limited", "mutation_rate_limited", "too_many_exports", "too_many_imports", "signup_rate_limited"}),
    500: frozenset({"internal_error"}),
    503: frozenset(
        {
            "limiter_unavailable", "data_unverified", "ads_unavailable", "query_timeout",
            "queue_unavailable", "checkout_unavailable", "mail_unavailable", "links_unavailable",
            "revenue_unverified", "spend_unverified", "costs_unverified", "as_of_busy",
        }
    ),
}  # fmt: skip
"""HTTP status to the codes its error bodies may contain."""


class ApiError(Exception):
    """Base class of error responses.

    Args:
        message: the sentence in ``error``. Clients must not depend on its text.
        code: a registered code; None for bodies that have only ``error``.
        field: the invalid parameter or JSON path.
        hint: one sentence that says what to do.
        headers: extra response headers.
        extra: further body fields, such as ``required_scope``.
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
        """Returns the JSON object of the response: ``error`` first, then the fields that are set."""
        optional = {"code": self.code, "field": self.field, "hint": self.hint}
        return (
            {"error": self.message} | {k: v for k, v in optional.items() if v is not None} | dict(self.extra)
        )


class BadRequest(ApiError):
    """The request is malformed. Nothing was done."""

    status = 400


class Unauthorized(ApiError):
    """The request has no credential, or an unknown one."""

    status = 401


class Forbidden(ApiError):
    """The credential is valid but lacks permission."""

    status = 403


class NotFound(ApiError):
    """No such endpoint, or no such resource in the workspace."""

    status = 404

    def __init__(self) -> None:
        super().__init__("Not found")


class MethodNotAllowed(ApiError):
    """The path exists, but not for this method."""

    status = 405

    def __init__(self, allow: tuple[str, ...]) -> None:
        super().__init__("Method not allowed", headers={"Allow": ", ".join(allow)})


class Conflict(ApiError):
    """The current state of the resource does not allow the change."""

    status = 409


class Gone(ApiError):
    """The resource was withdrawn or has expired."""

    status = 410


class PayloadTooLarge(ApiError):
    """The body exceeds the size limit."""

    status = 413


class Unprocessable(ApiError):
    """The request is well-formed but violates a domain rule."""

    status = 422


class TooManyRequests(ApiError):
    """A rate limit is exceeded; the response carries ``Retry-After``."""

    status = 429


class MisdirectedRequest(ApiError):
    """The header ``Host`` names a host that this service does not answer for."""

    status = 421


class ServiceUnavailable(ApiError):
    """The answer could not be computed or verified. It is unknown, not zero."""

    status = 503


class StartupError(Exception):
    """The process cannot start with this configuration. The message says what to change."""
