"""`GET /providers` and `POST /connections/{connectionId}/test`."""

from collections.abc import Mapping
from contextlib import aclosing
from datetime import timedelta
from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller
from service_core.analytics.connections.providers import InstalledProvider, InstalledProviders
from service_core.changes.change_executor import ChangeExecutor, is_dry_run
from service_core.changes.record_plans import get_or_404
from service_core.changes.schemas import DryRunBody
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.connections.models import (
    ConnectionRecord,
    ConnectionRowStorage,
    ProviderAccount,
)
from service_core.commerce.connections.schemas import (
    ConnectionTestResult,
    ProviderAnswer,
    ProviderCredential,
    ProviderList,
)
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.providers.ports import PollableProvider, PollRequest
from service_core.commerce.sync.connection_sync import redact_and_shorten_reason
from service_core.kernel.operations import RateLimitClass, Scope, operation

_POLLED_SPAN = timedelta(minutes=1)
"""How far back a test polls: whether the provider answers matters, not what happened."""


class ConnectionPath(BaseModel):
    """Path parameters."""

    connectionId: UUID  # noqa: N815 - as in the path


@operation("GET /providers", tag="connections", is_aggregate=True)
async def list_providers(
    *, caller: Caller, changes: ChangeExecutor, providers: InstalledProviders
) -> ProviderList:
    """List the ad platforms and revenue providers that can be connected, and the credentials each takes."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        connected = {
            record.provider for record in await ConnectionRowStorage(transaction).list_all(ConnectionRecord)
        }
    return ProviderList(
        providers=[
            _to_answer(provider, is_connected=provider.id in connected)
            for provider in providers.by_id.values()
        ]
    )


@operation(
    "POST /connections/{connectionId}/test",
    tag="connections",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    body_optional=True,
)
async def test_connection(
    path: ConnectionPath,
    body: DryRunBody,
    *,
    caller: Caller,
    changes: ChangeExecutor,
    ad_sync: AdSpendSync,
    provider_sync: ProviderSync,
) -> ConnectionTestResult:
    """Ask the provider whether it accepts the stored credentials now. Changes nothing; `dry_run` asks nobody."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        record = await get_or_404(ConnectionRowStorage(transaction), ConnectionRecord, path.connectionId)
    if is_dry_run(caller, body.dry_run):
        return _result(None, f"{record.provider} would be asked with the stored credentials.", dry_run=True)
    secrets = await ad_sync.secrets.find_secrets(caller.workspace.id, record.provider)
    if not secrets:
        return _result(None, "No credentials are stored, so there is nothing to test.")
    try:
        return await _ask_provider(record, secrets, ad_sync, provider_sync)
    except (CredentialsRejected, PlatformUnavailable) as problem:
        return _result(False, redact_and_shorten_reason(str(problem), secrets))


async def _ask_provider(
    record: ConnectionRecord, secrets: Mapping[str, str], ad_sync: AdSpendSync, provider_sync: ProviderSync
) -> ConnectionTestResult:
    if platform := ad_sync.platforms.get(record.provider):
        accounts = [
            ProviderAccount(id=account.id, name=account.name)
            for account in await platform.list_accessible_accounts(secrets)
        ]
        return _result(True, f"The credentials open {len(accounts)} ad accounts.", accounts)
    provider = provider_sync.providers.get(record.provider)
    if provider is not None and provider.can_poll(secrets):
        await _poll_first_page(provider, record, secrets, provider_sync)
        return _result(True, "The provider accepts the credentials.")
    return _result(
        None, "This provider cannot be asked: the first webhook or conversion shows that it works."
    )


async def _poll_first_page(
    provider: PollableProvider, record: ConnectionRecord, secrets: Mapping[str, str], sync: ProviderSync
) -> None:
    """Raises what the provider answers instead of a first page."""
    request = PollRequest(
        secrets=secrets,
        accounts=tuple(account.id for account in record.accounts),
        since=sync.clock() - _POLLED_SPAN,
        excluded_kinds=(),
        processed_ids=_no_processed_ids,
    )
    async with aclosing(provider.poll_messages(request)) as pages:
        await anext(pages, None)


async def _no_processed_ids(message_ids: object) -> frozenset[str]:  # noqa: ARG001 - as `PollRequest.processed_ids`
    return frozenset()


def _result(
    ok: bool | None,
    message: str,
    accounts: list[ProviderAccount] | None = None,
    *,
    dry_run: bool = False,
) -> ConnectionTestResult:
    return ConnectionTestResult(dry_run=dry_run, ok=ok, message=message, accounts=accounts or [])


def _to_answer(provider: InstalledProvider, *, is_connected: bool) -> ProviderAnswer:
    declaration = provider.declaration
    return ProviderAnswer(
        id=provider.id,
        label=provider.label,
        kind=provider.kind,
        homepage=(declaration.homepage or None) if declaration else None,
        credentials=[
            ProviderCredential(
                name=field.name,
                label=field.label,
                help=field.help,
                required=field.required,
                secret=field.secret,
            )
            for field in declaration.credentials
        ]
        if declaration
        else None,
        accepts_webhooks=provider.accepts_webhooks,
        connected=is_connected,
    )
