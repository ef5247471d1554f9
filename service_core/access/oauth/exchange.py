"""Codes and refresh tokens become tokens, once; a second use ends the grant (RFC 6749, 7009, 7636, 9700)."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Final

from service_core.access.members.ports import Members
from service_core.access.oauth.addresses import Addresses
from service_core.access.oauth.consent import CODE_PREFIX, scopes_of
from service_core.access.oauth.model import (
    ACCESS_TOKEN_LIFETIME,
    REFRESH_LIFETIME,
    Issued,
    OAuthFault,
    Ticket,
    TicketKind,
)
from service_core.access.oauth.ports import Grants, Tickets
from service_core.access.roles import OAUTH_SCOPES
from service_core.kernel.clock import Clock
from service_core.kernel.ids import ACCESS_TOKEN, base64url, digest, new_access_token, new_token
from service_core.kernel.operations import Scope

REFRESH_PREFIX: Final = "ort_"

_KINDS: Final[Mapping[str, tuple[TicketKind, str]]] = {
    "authorization_code": (TicketKind.CODE, "code"),
    "refresh_token": (TicketKind.REFRESH, "refresh_token"),
}
"""Grant type -> the kind of its ticket, and the parameter that holds it."""

_FORMS: Final[Mapping[TicketKind, re.Pattern[str]]] = {
    TicketKind.CODE: re.compile(CODE_PREFIX + r"[A-Za-z0-9_-]{43}"),
    TicketKind.REFRESH: re.compile(REFRESH_PREFIX + r"[A-Za-z0-9_-]{43}"),
}
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class Exchange:
    """The token endpoint and the revocation endpoint.

    Args:
        tickets: codes and refresh tokens.
        grants: access tokens.
        members: whether the person still belongs to the workspace, and in which role.
        addresses: of this deployment.
        clock: gives the present.
    """

    def __init__(
        self, tickets: Tickets, grants: Grants, members: Members, addresses: Addresses, clock: Clock
    ) -> None:
        self._tickets = tickets
        self._grants = grants
        self._members = members
        self._addresses = addresses
        self._clock = clock

    async def exchange(self, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
        """Answer ``POST /oauth/token``.

        Raises:
            OAuthFault: with the code of RFC 6749, section 5.2.
        """
        form = _single(pairs)
        kind, parameter = _KINDS.get(form.get("grant_type", ""), (None, ""))
        if kind is None:
            raise OAuthFault("unsupported_grant_type", f"grant_type is one of: {', '.join(_KINDS)}")
        if not form.get("client_id"):
            raise OAuthFault("invalid_client", "client_id is required", 401)
        if not self._addresses.is_resource(form.get("resource")):
            raise OAuthFault("invalid_target", "resource names another service")
        sought = digest(_formed(form, parameter, _FORMS[kind]))
        now = self._clock()
        ticket = await self._tickets.ticket(sought)
        if ticket is None or ticket.kind is not kind:
            raise _invalid()
        scopes = await self._scopes(ticket, form.get("scope"))
        access, refresh = new_access_token(), new_token(REFRESH_PREFIX)
        fits = _belongs(ticket, form) and now < ticket.expires_at and bool(scopes)
        issued = Issued(digest(access), now + ACCESS_TOKEN_LIFETIME, digest(refresh), now + REFRESH_LIFETIME)
        # Whatever does not fit uses the ticket up as well: whoever holds it should not.
        if not await self._tickets.exchange(sought, issued if fits else None, now):
            raise _invalid()
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": int(ACCESS_TOKEN_LIFETIME.total_seconds()),
            "refresh_token": refresh,
            "scope": " ".join(scope.value for scope in Scope if scope in scopes),
        }

    async def revoke(self, pairs: Iterable[tuple[str, str]]) -> None:
        """End the grant of an access or refresh token; whatever else is sent changes nothing."""
        token = dict(pairs).get("token", "")
        now = self._clock()
        if ACCESS_TOKEN.fullmatch(token):
            found = await self._grants.access_token(digest(token))
            if found is not None:
                await self._tickets.end_grant(found.grant.id, now)
        elif _FORMS[TicketKind.REFRESH].fullmatch(token):
            ticket = await self._tickets.ticket(digest(token))
            if ticket is not None:
                await self._tickets.end_grant(ticket.grant.id, now)

    async def _scopes(self, ticket: Ticket, asked: str | None) -> frozenset[Scope]:
        """What the grant allows in the present role; nothing when the person has left.

        Raises:
            OAuthFault: ``invalid_scope`` for more than was granted; the ticket still works.
        """
        grant = ticket.grant
        if asked is not None and not scopes_of(asked) <= grant.scopes:
            raise OAuthFault("invalid_scope", "The grant does not hold this scope")
        member = await self._members.role(grant.workspace_id, grant.account_id)
        return frozenset() if member is None else grant.scopes & OAUTH_SCOPES[member.role]


def _single(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Parameters by name; an empty one counts as absent.

    Raises:
        OAuthFault: one is repeated.
    """
    form: dict[str, str] = {}
    for name, value in pairs:
        if name in form:
            raise OAuthFault("invalid_request", "A parameter is repeated")
        form[name] = value
    return {name: value for name, value in form.items() if value}


def _formed(form: Mapping[str, str], parameter: str, shape: re.Pattern[str]) -> str:
    """A secret of the right form, so that nothing else reaches the store."""
    secret = form.get(parameter)
    if secret is None:
        raise OAuthFault("invalid_request", f"{parameter} is required")
    if not shape.fullmatch(secret):
        raise _invalid()
    return secret


def _belongs(ticket: Ticket, form: Mapping[str, str]) -> bool:
    """Whether whoever shows a ticket is the program it was given to."""
    if form["client_id"] != ticket.grant.client_id:
        return False
    if ticket.kind is TicketKind.REFRESH:
        return True
    verifier = form.get("code_verifier", "")
    if ticket.challenge is None or not _VERIFIER.fullmatch(verifier):
        return False
    made = base64url(hashlib.sha256(verifier.encode()).digest())
    return hmac.compare_digest(made, ticket.challenge) and form.get("redirect_uri") == ticket.redirect_uri


def _invalid() -> OAuthFault:
    return OAuthFault(
        "invalid_grant", "The code or refresh token is not valid any more, or not for this request"
    )
