"""When an ad platform is read, which days, and what a connection says afterwards (semantics 12.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from service_core.analytics.connections.models import ConnectedAccount, Connection, ConnectionStatus
from service_core.commerce.ads.models import AdAccount
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable

RESTATED_DAYS: Final = 28
"""Days that platforms restate: today is the last of them."""
_CHUNK_DAYS: Final = 7


def sync_days(
    account: AdAccount, last_synced_at: datetime | None, now: datetime, first_days: int
) -> tuple[date, date]:
    """The first and the last day to read, both inclusive, in the account's zone.

    Args:
        account: whose days.
        last_synced_at: when its connection was read with success; None for never.
        now: the present.
        first_days: how many days the first reading takes, with today.

    Raises:
        PlatformUnavailable: the platform names a zone that nobody knows.
    """
    try:
        zone = ZoneInfo(account.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise PlatformUnavailable(
            f"The time zone {account.timezone!r} of account {account.id} is not known."
        ) from None
    today = now.astimezone(zone).date()
    if last_synced_at is None:
        return today - timedelta(days=first_days - 1), today
    last = last_synced_at.astimezone(zone).date()
    if last == today:
        return today - timedelta(days=1), today
    return min(last, today - timedelta(days=RESTATED_DAYS - 1)), today


def date_chunks(first: date, last: date) -> Iterator[tuple[date, date]]:
    """Stretches of a few days, the newest first: what is asked for most is there first."""
    while first <= last:
        begin = max(first, last - timedelta(days=_CHUNK_DAYS - 1))
        yield begin, last
        last = begin - timedelta(days=1)


def accounts_to_sync(connection: Connection, accounts: Sequence[AdAccount]) -> list[AdAccount]:
    """The accounts to read: those that are noted, or all that were found when none is.

    Raises:
        CredentialsRejected: there is none of them.
    """
    noted = {account.id for account in connection.accounts}
    chosen = [account for account in accounts if not noted or account.id in noted]
    if not chosen:
        missing = f" named here: {', '.join(sorted(noted))}" if noted else ""
        raise CredentialsRejected(f"The credentials open no ad account{missing}.")
    return chosen


def mark_synced(connection: Connection, accounts: Sequence[AdAccount], started_at: datetime) -> Connection:
    """A connection all of whose accounts were read, or all but those the credentials do not open any more."""
    by_id = {account.id: account for account in accounts}
    kept = [_update_account(noted, by_id.get(noted.id)) for noted in connection.accounts]
    known = {noted.id for noted in kept}
    kept += [_update_account(ConnectedAccount(one.id), one) for one in accounts if one.id not in known]
    closed = sorted(known - by_id.keys())
    return replace(
        connection,
        status=ConnectionStatus.CONNECTED,
        accounts=tuple(kept),
        error=f"The credentials do not open {', '.join(closed)}." if closed else None,
        last_synced_at=started_at,
    )


def mark_expired(connection: Connection, reason: str) -> Connection:
    """A connection whose credentials are not good any more."""
    return replace(connection, status=ConnectionStatus.EXPIRED, error=reason)


def _update_account(connected: ConnectedAccount, account: AdAccount | None) -> ConnectedAccount:
    """An account as it was noted, and as the platform describes it."""
    if account is None:
        return connected
    return replace(
        connected, name=account.name or connected.name, currency=account.currency, timezone=account.timezone
    )
