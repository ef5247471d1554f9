"""A program that a person has let in over OAuth, without the pages in between."""

from datetime import datetime, timedelta

from service_core.access.model import Grant
from service_core.access.oauth.model import (
    ACCESS_TOKEN_LIFETIME,
    REFRESH_LIFETIME,
    Issued,
    Ticket,
    TicketKind,
)
from service_core.access.oauth.ports import Tickets
from service_core.kernel.ids import digest, new_access_token, new_id


async def let_in(
    tickets: Tickets, grant: Grant, now: datetime, *, lasts: timedelta = ACCESS_TOKEN_LIFETIME
) -> str:
    """Open a grant and exchange its code; the access token.

    Args:
        tickets: the store.
        grant: of a person who belongs to its workspace.
        now: when both happen.
        lasts: how long the token is accepted.
    """
    code, token = new_id().hex, new_access_token()
    await tickets.open_grant(Ticket(TicketKind.CODE, grant, now + lasts), digest(code))
    issued = Issued(digest(token), now + lasts, digest(f"{code} refresh"), now + REFRESH_LIFETIME)
    assert await tickets.exchange(digest(code), issued, now)
    return token
