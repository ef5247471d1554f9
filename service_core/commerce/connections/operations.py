"""`GET /providers` and `POST /connections/{connectionId}/test`."""

from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller
from service_core.analytics.connections.providers import InstalledProvider, InstalledProviders
from service_core.changes.change_executor import ChangeExecutor, is_dry_run
from service_core.changes.record_plans import get_or_404
from service_core.changes.schemas import DryRunBody
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.connections.credential_test import (
    ask_provider_with_credentials,
    build_test_result,
)
from service_core.commerce.connections.models import ConnectionRecord, ConnectionRowStorage
from service_core.commerce.connections.schemas import (
    ConnectionTestResult,
    ProviderAnswer,
    ProviderCredential,
    ProviderList,
)
from service_core.commerce.providers.poll import ProviderSync
from service_core.kernel.operations import RateLimitClass, Reversibility, Scope, operation
from service_core.kernel.row_selection import RowSelection


class ConnectionPath(BaseModel):
    """Path parameters."""

    connectionId: UUID  # noqa: N815 - as in the path


@operation("GET /providers", tag="connections", is_aggregate=True)
async def list_providers(
    query: RowSelection,  # noqa: ARG001 - the rows are selected from the answer
    *,
    caller: Caller,
    changes: ChangeExecutor,
    providers: InstalledProviders,
) -> ProviderList:
    """List the ad platforms and revenue providers that can be connected, and the credentials each takes."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        connected = {
            record.provider for record in await ConnectionRowStorage(transaction).list_all(ConnectionRecord)
        }
    return ProviderList(
        providers=[
            _to_provider_answer(provider, is_connected=provider.id in connected)
            for provider in providers.by_id.values()
        ]
    )


@operation(
    "POST /connections/{connectionId}/test",
    tag="connections",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    body_optional=True,
    reversibility=Reversibility.REVERSIBLE,
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
        return build_test_result(
            None, f"{record.provider} would be asked with the stored credentials.", dry_run=True
        )
    secrets = await ad_sync.secrets.find_secrets(caller.workspace.id, record.provider)
    accounts = [account.id for account in record.accounts]
    return await ask_provider_with_credentials(record.provider, accounts, secrets, ad_sync, provider_sync)


def _to_provider_answer(provider: InstalledProvider, *, is_connected: bool) -> ProviderAnswer:
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
