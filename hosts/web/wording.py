"""Scopes, roles and refusals in words for people."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from service_core.access.roles import Role
from service_core.kernel.errors import Refusal, TooMany, Unauthorized
from service_core.kernel.operations import Scope

SCOPE_WORDS: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        Scope.READ: "Read everything: traffic, people, revenue, reports; run and export them",
        Scope.WRITE_RULES: "Change conversion rules",
        Scope.WRITE_LINKS: "Change trackable links, at once on their live addresses",
        Scope.WRITE_REPORTS: "Change dashboards, reports and analyses, and publish them by share links",
        Scope.PROPOSE_SCRIPTS: "Propose scripts for your site; an owner or admin still has to approve each",
    }
)
"""Scope -> what it lets a program do."""

ROLE_WORDS: Final[Mapping[Role, str]] = MappingProxyType(
    {
        Role.OWNER: "everything, with billing and roles",
        Role.ADMIN: "keys, scripts, rules and links; invites people",
        Role.MEMBER: "reads, and makes dashboards and reports",
        Role.VIEWER: "reads",
    }
)
"""Role -> what it may do, in short."""


def scope_lines(scopes: Iterable[Scope]) -> list[tuple[str, str]]:
    """Name and words of scopes, in the order of the contract."""
    wanted = frozenset(scopes)
    return [(scope.value, words) for scope, words in SCOPE_WORDS.items() if scope in wanted]


def told(refusal: Refusal) -> tuple[int, str]:
    """Status and sentence of a refusal in a form; 401 asks for a header, which no page takes."""
    if isinstance(refusal, TooMany):
        return refusal.status, "Too many attempts. Wait a quarter of an hour and try again."
    return 403 if isinstance(refusal, Unauthorized) else refusal.status, f"{refusal.message}."
