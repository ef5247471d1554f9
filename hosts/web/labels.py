"""Scopes, roles, what was done and what was refused, and reasons of the ledger, in words for people."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from service_core.access.roles import Role
from service_core.ingestion.ignored_values import IgnoredValue
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.transforms.run_transforms import DROPPED_PREFIX, FAILED_PREFIX, REMOVED_PREFIX
from service_core.kernel.errors import ApiError, TooManyRequests, Unauthorized
from service_core.kernel.operations import Scope

SCOPE_LABELS: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        Scope.READ: "Read all data: traffic, people, revenue and reports, including exports",
        Scope.READ_AGGREGATES: "Read totals only: no individual people, no single events, no exports",
        Scope.WRITE_RULES: "Edit conversion rules, workspace settings and connections, and import events",
        Scope.WRITE_LINKS: "Edit tracking links (changes go live immediately)",
        Scope.WRITE_REPORTS: "Edit dashboards, reports, analyses, annotations, alerts and scheduled e-mails, and share publicly",
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
        "taken-back": "The changes were undone.",
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
        RejectionReason.RATE_LIMITED: "Too many events per second",
        RejectionReason.NO_BODY: "Empty request",
        RejectionReason.INVALID_JSON: "Invalid JSON, or not an event",
        RejectionReason.NO_EVENT_NAME: "No event name",
        RejectionReason.NO_IDENTITY: "No visitor or user ID",
        RejectionReason.ENQUEUE_FAILED: "Temporary server error; senders retry",
        RejectionReason.INVALID_SIGNATURE: "Invalid webhook signature",
        RejectionReason.OTHER_WORKSPACE: "Belongs to a different workspace than its batch",
        RejectionReason.UNSUPPORTED_ENCODING: "Unsupported content encoding",
    }
)
"""Reason of a refused event -> what the tracking page says."""

IGNORED_VALUE_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        IgnoredValue.MONEY: "Amount isn't a number, or its currency is unknown: no revenue counted",
        IgnoredValue.UNPAID_MONEY: "Amount on an event that isn't a payment, such as a product view: kept, not counted as revenue",
        IgnoredValue.CURRENCY: "Currency isn't a three-letter ISO 4217 code",
        IgnoredValue.TIMESTAMP: "Time is unreadable or before 2020: time of receipt used",
        IgnoredValue.LONG_ID: "ID longer than 255 characters: shortened",
        IgnoredValue.CLICK_ID_TYPE: "Unknown click ID type",
        IgnoredValue.TOP_LEVEL_FIELD: "Campaign parameter outside of properties",
        IgnoredValue.IP_ADDRESS: "Invalid IP address",
        IgnoredValue.PROPERTIES: "Properties aren't an object: dropped",
        IgnoredValue.DEEP_PROPERTY: "Property nested too deeply, or number out of range: dropped",
        IgnoredValue.EXTERNAL_IDS: "External ID is neither text nor a number",
        IgnoredValue.PROTOCOL_FIELD: "Field of another product's tracking code that Touchpoint doesn't read",
    }
)
"""Part of a stored event that cannot be used -> what the tracking page says."""

TRANSFORM_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        DROPPED_PREFIX: "Left out by the transform",
        REMOVED_PREFIX: "Personal data removed by the transform",
        FAILED_PREFIX: "Stored unchanged, because it failed: the transform",
    }
)
"""First part of a ledger reason of a transform -> what the tracking page says before its id."""


ACTION_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create": "created",
        "update": "changed",
        "delete": "deleted",
        "reorder": "reordered",
        "revoke": "revoked",
        "propose": "proposed",
        "undo": "undid a change of",
    }
)
"""Action of an audit entry -> what the audit page says of its actor."""

REVERSIBILITY_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reversible": "Can be undone completely.",
        "reversible_with_effects": "Can be undone, but what it does outside this workspace cannot be taken back.",
        "irreversible": "Cannot be undone.",
    }
)
"""Reversibility of a change -> a sentence."""


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
