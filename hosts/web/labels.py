"""Scopes, roles, what was done and what was refused, in words for people."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from service_core.access.roles import Role
from service_core.kernel.errors import ApiError, TooManyRequests, Unauthorized
from service_core.kernel.operations import Scope

SCOPE_LABELS: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        Scope.READ: "Read everything: traffic, people, revenue, reports; run and export them",
        Scope.WRITE_RULES: "Change conversion rules",
        Scope.WRITE_LINKS: "Change trackable links, at once on their live addresses",
        Scope.WRITE_REPORTS: "Change dashboards, reports and analyses, and publish them by share links",
        Scope.PROPOSE_SCRIPTS: "Propose scripts for your site; an owner or admin still has to approve each",
    }
)
"""Scope -> what it lets a program do."""

ROLE_LABELS: Final[Mapping[Role, str]] = MappingProxyType(
    {
        Role.OWNER: "everything, with billing and roles",
        Role.ADMIN: "keys, scripts, rules and links; invites people",
        Role.MEMBER: "reads, and makes dashboards and reports",
        Role.VIEWER: "reads",
    }
)
"""Role -> what it may do, in short."""

CONFIRMATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "saved": "Saved.",
        "revoked": "The key is revoked. It is refused from the next request on.",
        "removed": "Removed. Access ended at once.",
        "claimed": "Added. Its proof is still missing.",
        "verified": "Verified. Links can stand on it.",
        "let-go": "Removed.",
        "unlinked": "Taken back. Every report counts people without these links from now on.",
        "invited": "The invitation is on its way.",
        "withdrawn": "The invitation is withdrawn.",
        "disconnected": "Disconnected. Its tokens are refused from the next request on.",
        "joined": "You are a member now.",
        "undone": "Taken back.",
        "unshared": "The page is gone from the next request on.",
        "signed-out": "You are signed out.",
        "passkey-added": "The passkey is added.",
        "passkey-removed": "The passkey is removed. It signs in no more, and every other browser is signed out.",
        "elsewhere-out": "Every other browser is signed out.",
    }
)
"""What a page says after a form was done, by the word in its address."""


def label_scopes(scopes: Iterable[Scope]) -> list[tuple[str, str]]:
    """Name and words of scopes, in the order of the contract."""
    wanted = frozenset(scopes)
    return [(scope.value, words) for scope, words in SCOPE_LABELS.items() if scope in wanted]


def describe_refusal(refusal: ApiError) -> tuple[int, str]:
    """Status and sentences of a refusal; 401 asks for a header, which no page takes."""
    if isinstance(refusal, TooManyRequests):
        return refusal.status, "Too many attempts. Wait a quarter of an hour and try again."
    said = " ".join(filter(None, (f"{refusal.message}.", refusal.hint)))
    return 403 if isinstance(refusal, Unauthorized) else refusal.status, said
