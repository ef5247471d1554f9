"""Scopes, roles, what was done and what was refused, and reasons of the ledger, in words for people."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from service_core.access.roles import Role
from service_core.ingestion.ignored_values import IgnoredValue
from service_core.ingestion.models import RejectionReason
from service_core.kernel.errors import ApiError, TooManyRequests, Unauthorized
from service_core.kernel.operations import Scope

SCOPE_LABELS: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        Scope.READ: "Read all data: traffic, people, revenue and reports, including exports",
        Scope.WRITE_RULES: "Edit conversion rules",
        Scope.WRITE_LINKS: "Edit tracking links (changes go live immediately)",
        Scope.WRITE_REPORTS: "Edit dashboards, reports and analyses, and share them publicly",
        Scope.PROPOSE_SCRIPTS: "Propose scripts for your site (an owner or admin approves each one)",
    }
)
"""Scope -> what it lets a program do."""

ROLE_LABELS: Final[Mapping[Role, str]] = MappingProxyType(
    {
        Role.OWNER: "full access",
        Role.ADMIN: "manage keys, scripts, rules and links, and invite members",
        Role.MEMBER: "view data, create dashboards and reports",
        Role.VIEWER: "view only",
    }
)
"""Role -> what it may do, in short."""

CONFIRMATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "saved": "Saved.",
        "repeated": "This form was already sent. Nothing was created twice.",
        "revoked": "Key revoked. It stopped working immediately.",
        "removed": "Removed. Access ended immediately.",
        "claimed": "Added. Verify it to use it.",
        "verified": "Verified. You can create links on it.",
        "let-go": "Removed.",
        "unlinked": "Links revoked. Reports no longer use them.",
        "invited": "Invitation sent.",
        "withdrawn": "Invitation withdrawn.",
        "erasing": "Erasure requested. It is completed within a minute.",
        "disconnected": "Disconnected. Its tokens stopped working immediately.",
        "joined": "You are now a member.",
        "undone": "Change undone.",
        "unshared": "The link stopped working immediately.",
        "signed-out": "You are signed out.",
        "passkey-added": "Passkey added.",
        "passkey-removed": "Passkey removed. All other browsers are signed out.",
        "elsewhere-out": "All other browsers are signed out.",
    }
)
"""What a page says after a form was done, by the word in its address."""


REJECTION_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        RejectionReason.TOO_LARGE: "Too large",
        RejectionReason.RATE_LIMITED: "More events in a second than are accepted",
        RejectionReason.NO_BODY: "Request without a body",
        RejectionReason.INVALID_JSON: "Body is not JSON, or not an event",
        RejectionReason.NO_EVENT_NAME: "No event name",
        RejectionReason.NO_IDENTITY: "No id of a visitor or user",
        RejectionReason.ENQUEUE_FAILED: "The server could not store it; senders try again",
        RejectionReason.INVALID_SIGNATURE: "Webhook with a wrong signature",
        RejectionReason.OTHER_WORKSPACE: "Names another workspace than the rest of its batch",
        RejectionReason.UNSUPPORTED_ENCODING: "Content encoding other than gzip",
    }
)
"""Reason of a refused event -> what the tracking page says."""

IGNORED_VALUE_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        IgnoredValue.MONEY: "Amount that is no number, or in a currency that does not exist: no revenue was counted",
        IgnoredValue.UNPAID_MONEY: "Amount of an event with which nothing is paid, such as a product view: kept, not revenue",
        IgnoredValue.CURRENCY: "Currency that is no three-letter code of ISO 4217",
        IgnoredValue.TIMESTAMP: "Time that cannot be read or lies before 2020: the time of receipt was used",
        IgnoredValue.LONG_ID: "Id longer than 255 characters: the rest was cut",
        IgnoredValue.CLICK_ID_TYPE: "Click id of an unknown type",
        IgnoredValue.TOP_LEVEL_FIELD: "Campaign value outside of properties",
        IgnoredValue.IP_ADDRESS: "IP address that is none",
        IgnoredValue.PROPERTIES: "Properties that are no object: none was kept",
        IgnoredValue.DEEP_PROPERTY: "Property nested too deep, or a number out of range: it was dropped",
        IgnoredValue.EXTERNAL_IDS: "External id that is neither text nor number",
    }
)
"""Part of a stored event that cannot be used -> what the tracking page says."""


def label_scopes(scopes: Iterable[Scope]) -> list[tuple[str, str]]:
    """Name and words of scopes, in the order of the contract."""
    wanted = frozenset(scopes)
    return [(scope.value, words) for scope, words in SCOPE_LABELS.items() if scope in wanted]


def page_status_and_message(error: ApiError) -> tuple[int, str]:
    """Status and sentences of a refusal; 401 asks for a header, which no page takes."""
    if isinstance(error, TooManyRequests):
        return error.status, "Too many attempts. Try again in 15 minutes."
    message = " ".join(filter(None, (f"{error.message}.", error.hint)))
    return 403 if isinstance(error, Unauthorized) else error.status, message
