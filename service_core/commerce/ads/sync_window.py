"""Date range and accounts of a sync of ad spend, and the connection after it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from service_core.analytics.connections.models import ConnectedAccount, Connection, ConnectionStatus
from service_core.commerce.ads.models import AdAccount
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable

RESTATED_DAYS: Final = 28
"""Number of recent days, today included, that are read again every day: platforms still correct their numbers."""
LATE_RESTATED_DAYS: Final = 145
"""Number of recent days, today included, that are read again once a week: late adjustments come for so long."""
_CHUNK_DAYS: Final = 7


def days_to_sync_with_restated_ones(
    account: AdAccount, last_synced_at: datetime | None, now: datetime, initial_days: int
) -> tuple[date, date]:
    """Returns the first and the last day to sync, both inclusive, in the time zone of the account.

    Args:
        account: whose days.
        last_synced_at: when its connection was read with success; None for never.
        now: the present.
        initial_days: how many days the first reading takes, with today.

    Raises:
        PlatformUnavailable: the platform names an unknown time zone.
    """
    try:
        zone = ZoneInfo(account.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise PlatformUnavailable(
            f"The time zone {account.timezone!r} of account {account.id} is not known."
        ) from None
    today = now.astimezone(zone).date()
    if last_synced_at is None:
        return today - timedelta(days=initial_days - 1), today
    last = last_synced_at.astimezone(zone).date()
    if last == today:
        return today - timedelta(days=1), today
    is_new_week = last.isocalendar()[:2] != today.isocalendar()[:2]
    days = LATE_RESTATED_DAYS if is_new_week else RESTATED_DAYS
    return min(last, today - timedelta(days=days - 1)), today


def weekly_chunks_newest_first(first_day: date, last_day: date) -> Iterator[tuple[date, date]]:
    """Yields chunks of up to 7 days, newest first."""
    while first_day <= last_day:
        begin = max(first_day, last_day - timedelta(days=_CHUNK_DAYS - 1))
        yield begin, last_day
        last_day = begin - timedelta(days=1)


def require_accounts_to_sync(connection: Connection, accounts: Sequence[AdAccount]) -> list[AdAccount]:
    """Returns the accounts to sync: those listed at the connection, or all if none is listed.

    Raises:
        CredentialsRejected: there is none of them.
    """
    noted = {account.id for account in connection.accounts}
    chosen = [account for account in accounts if not noted or account.id in noted]
    if not chosen:
        missing = f" named here: {', '.join(sorted(noted))}" if noted else ""
        raise CredentialsRejected(f"The credentials open no ad account{missing}.")
    return chosen


def mark_synced_with_lost_accounts_as_error(
    connection: Connection, accounts: Sequence[AdAccount], started_at: datetime
) -> Connection:
    """Returns the connection after a successful sync; accounts that are no longer accessible are its error."""
    by_id = {account.id: account for account in accounts}
    updated = [_with_details_if_accessible(noted, by_id.get(noted.id)) for noted in connection.accounts]
    known = {noted.id for noted in updated}
    updated += [
        _with_details_if_accessible(ConnectedAccount(one.id), one) for one in accounts if one.id not in known
    ]
    closed = sorted(known - by_id.keys())
    return replace(
        connection,
        status=ConnectionStatus.CONNECTED,
        accounts=tuple(updated),
        error=f"The credentials do not open {', '.join(closed)}." if closed else None,
        last_synced_at=started_at,
    )


def mark_expired(connection: Connection, reason: str) -> Connection:
    """Returns the connection with the status expired."""
    return replace(connection, status=ConnectionStatus.EXPIRED, error=reason)


def _with_details_if_accessible(connected: ConnectedAccount, account: AdAccount | None) -> ConnectedAccount:
    """Returns the account with the details of the platform."""
    if account is None:
        return connected
    return replace(
        connected, name=account.name or connected.name, currency=account.currency, timezone=account.timezone
    )
