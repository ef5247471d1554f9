"""Asks a provider whether it accepts the stored credentials of a connection."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta

from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.connections.models import ProviderAccount
from service_core.commerce.connections.schemas import ConnectionTestResult
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.providers.ports import PollableProvider, PollRequest
from service_core.commerce.sync.connection_sync import redact_and_shorten_reason

_POLLED_SPAN = timedelta(minutes=1)
"""How far back a test polls: whether the provider answers matters, not what happened."""


async def ask_provider_with_credentials(
    provider_id: str,
    account_ids: Sequence[str],
    secrets: Mapping[str, str] | None,
    ad_sync: AdSpendSync,
    provider_sync: ProviderSync,
) -> ConnectionTestResult:
    """Returns what a provider answers to credentials; they are left out of its message.

    Args:
        provider_id: id of the provider.
        account_ids: those of the connection, for providers whose address needs one.
        secrets: the credentials by name; None or empty if none are stored.
        ad_sync: has the ad platforms.
        provider_sync: has the revenue providers that can be polled.
    """
    if not secrets:
        return build_test_result(None, "No credentials are stored, so there is nothing to test.")
    try:
        if platform := ad_sync.platforms.get(provider_id):
            accounts = [
                ProviderAccount(id=account.id, name=account.name)
                for account in await platform.list_accessible_accounts(secrets)
            ]
            return build_test_result(True, f"The credentials open {len(accounts)} ad accounts.", accounts)
        provider = provider_sync.providers.get(provider_id)
        if provider is not None and provider.can_poll(secrets):
            await _raise_error_of_first_poll_page(provider, account_ids, secrets, provider_sync)
            return build_test_result(True, "The provider accepts the credentials.")
    except (CredentialsRejected, PlatformUnavailable) as problem:
        return build_test_result(False, redact_and_shorten_reason(str(problem), secrets))
    return build_test_result(
        None, "This provider cannot be asked: the first webhook or conversion shows that it works."
    )


def build_test_result(
    ok: bool | None,
    message: str,
    accounts: list[ProviderAccount] | None = None,
    *,
    dry_run: bool = False,
) -> ConnectionTestResult:
    """Returns the result of a test."""
    return ConnectionTestResult(dry_run=dry_run, ok=ok, message=message, accounts=accounts or [])


async def _raise_error_of_first_poll_page(
    provider: PollableProvider, account_ids: Sequence[str], secrets: Mapping[str, str], sync: ProviderSync
) -> None:
    """Raises what the provider answers instead of a first page."""
    request = PollRequest(
        secrets=secrets,
        accounts=tuple(account_ids),
        since=sync.clock() - _POLLED_SPAN,
        excluded_kinds=(),
        processed_ids=_no_processed_ids,
    )
    async with aclosing(provider.poll_messages(request)) as pages:
        await anext(pages, None)


async def _no_processed_ids(message_ids: object) -> frozenset[str]:  # noqa: ARG001 - as `PollRequest.processed_ids`
    return frozenset()
