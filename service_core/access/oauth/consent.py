"""What a program asks of a person, what the person sees of it, and the answer that goes back."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from service_core.access.members.model import Member
from service_core.access.model import Grant
from service_core.access.oauth.addresses import Addresses
from service_core.access.oauth.model import (
    CODE_LIFETIME,
    Client,
    OAuthFault,
    SentBack,
    Ticket,
    TicketKind,
)
from service_core.access.oauth.ports import Clients, Tickets
from service_core.access.oauth.redirects import is_registered, with_parameters
from service_core.access.roles import OAUTH_SCOPES
from service_core.kernel.clock import Clock
from service_core.kernel.ids import digest, new_id, new_token
from service_core.kernel.operations import Scope

CODE_PREFIX: Final = "oac_"
LONGEST_STATE: Final = 2000

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_CLIENT_ID: Final = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked authorization request.

    Attributes:
        scopes: what is asked for; what a person can give depends on the role.
    """

    client: Client
    redirect_uri: str
    scopes: frozenset[Scope]
    challenge: str
    state: str | None

    def grantable(self, member: Member) -> frozenset[Scope]:
        """What this member can give; the rest is left out of the grant."""
        return self.scopes & OAUTH_SCOPES[member.role]


class Consents:
    """Reads authorization requests and carries the person's answer back. Consent is asked every time.

    Args:
        clients: who may ask.
        tickets: where codes are kept.
        addresses: of this deployment.
        clock: gives the present.
    """

    def __init__(self, clients: Clients, tickets: Tickets, addresses: Addresses, clock: Clock) -> None:
        self._clients = clients
        self._tickets = tickets
        self._addresses = addresses
        self._clock = clock

    async def read(self, pairs: Iterable[tuple[str, str]]) -> Asked:
        """Check the parameters of an authorization request.

        Raises:
            OAuthFault: the program or its address is not certain, so nobody is redirected.
            SentBack: any other fault; the program is told.
        """
        sent = list(pairs)
        values = {name: value for name, value in sent if value}
        repeated = {name for name, _ in sent if sum(name == other for other, _ in sent) > 1}
        client = await self._client(values.get("client_id"))
        redirect = values.get("redirect_uri")
        if client is None or repeated & {"client_id", "redirect_uri"}:
            raise OAuthFault("invalid_client", "This program is not registered here")
        if redirect is None or not is_registered(redirect, client.redirect_uris):
            raise OAuthFault(
                "invalid_request", "The program asks to be answered at an address it did not register"
            )
        state = values.get("state", "")[:LONGEST_STATE] or None
        if repeated:
            raise self.refusal(redirect, state, "invalid_request", "A parameter is repeated")
        return Asked(client, redirect, self._scopes(values, redirect, state), values["code_challenge"], state)

    def refusal(self, redirect: str, state: str | None, error: str, description: str) -> SentBack:
        """The answer that tells a program no."""
        return SentBack(self._back(redirect, state, {"error": error, "error_description": description}))

    async def approve(self, asked: Asked, member: Member) -> str:
        """Give the program what the member can give, in the member's workspace.

        Returns:
            Where to send the browser: the redirect address with a code of 60 seconds.

        Raises:
            SentBack: the role allows nothing of what was asked.
        """
        scopes = asked.grantable(member)
        if not scopes:
            raise self.refusal(
                asked.redirect_uri, asked.state, "access_denied", "The role allows none of the scopes"
            )
        now = self._clock()
        grant = Grant(
            id=new_id(),
            account_id=member.account_id,
            client_id=asked.client.id,
            client_name=asked.client.name,
            workspace_id=member.workspace_id,
            scopes=scopes,
            created_at=now,
        )
        code = new_token(CODE_PREFIX)
        ticket = Ticket(TicketKind.CODE, grant, now + CODE_LIFETIME, asked.redirect_uri, asked.challenge)
        await self._tickets.open_grant(ticket, digest(code))
        return self._back(asked.redirect_uri, asked.state, {"code": code})

    def _scopes(self, values: dict[str, str], redirect: str, state: str | None) -> frozenset[Scope]:
        """The scopes of a request whose other parameters are in order."""
        if values.get("response_type") != "code":
            raise self.refusal(redirect, state, "unsupported_response_type", "response_type must be code")
        if values.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(
            values.get("code_challenge", "")
        ):
            raise self.refusal(
                redirect, state, "invalid_request", "PKCE with code_challenge_method=S256 is required"
            )
        if not self._addresses.is_resource(values.get("resource")):
            raise self.refusal(redirect, state, "invalid_target", "resource names another service")
        try:
            return scopes_of(values.get("scope"))
        except OAuthFault as fault:
            raise self.refusal(redirect, state, fault.error, fault.description) from None

    async def _client(self, client_id: str | None) -> Client | None:
        return (
            await self._clients.client(client_id) if client_id and _CLIENT_ID.fullmatch(client_id) else None
        )

    def _back(self, redirect: str, state: str | None, parameters: dict[str, str]) -> str:
        stated = {} if state is None else {"state": state}
        return with_parameters(redirect, {**parameters, **stated, "iss": self._addresses.root_url})


def scopes_of(text: str | None) -> frozenset[Scope]:
    """Scopes written with spaces between them; without any, the one to read.

    Raises:
        OAuthFault: ``invalid_scope``.
    """
    known = {scope.value: scope for scope in Scope}
    wanted = (text or Scope.READ.value).split()
    if not wanted or not set(wanted) <= known.keys():
        raise OAuthFault("invalid_scope", f"Known scopes: {' '.join(known)}")
    return frozenset(known[name] for name in wanted)
