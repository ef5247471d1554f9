"""The port ``workspace``: every store that its adapter gives, each reached as an attribute."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.key_requests.ports import KeyRequests
from service_core.access.members.ports import Accounts, Invitations, Members, Sessions
from service_core.access.oauth.ports import OAuthClients, OAuthGrants, OneTimeTokens
from service_core.access.passkeys.ports import PasskeyChallenges, Passkeys
from service_core.access.ports import CredentialStore, TransferableStore, WorkspaceSettings
from service_core.access.signup.ports import Signups
from service_core.analytics.connections.ports import Connections
from service_core.analytics.fx.ports import ExchangeRateStore
from service_core.analytics.install_attribution.ports import MatchedVisits, RecentLinkClicks
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.receipts.ports import Receipts
from service_core.changes.ports import Transactions, UniqueKeyLookup
from service_core.commerce.ads.ports import AdSpendStore
from service_core.commerce.costs.ports import ItemCostStore
from service_core.commerce.credentials.ports import EncryptedSecretStore
from service_core.commerce.providers.ports import ProcessedMessages
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.commerce.sync.freshness import PollStates
from service_core.commerce.sync.ports import SyncLeases
from service_core.delivery.exports.ports import ExportJobs, Exports
from service_core.delivery.imports.ports import Imports
from service_core.delivery.postbacks.outbox import PostbackOutbox, PostbackQueues
from service_core.ingestion.ports import EventStoreRecord, LinkLookup, TransformGaps
from service_core.kernel.clock import Clock
from service_core.privacy.ports import Erasures, PersonalRecords
from service_core.workspace.alerts.ports import AlertStates
from service_core.workspace.links.ports import ClickStore
from service_core.workspace.notifications.ports import EmailConsents, NotificationOutbox
from service_core.workspace.share_links.ports import ShareLinkViews
from service_core.workspace.usage_alerts.ports import UsageAlertLog


class WorkspaceHistory(Protocol):
    """Gives a workspace as it was at an earlier instant.

    That is its settings, conversion rules, segments, links, connections, ad spend, item costs and subscriptions, and the
    exchange rates. What else the store holds is given as it is, or missing.
    """

    def use_clock(self, clock: Clock) -> None:
        """Sets the clock that says when something is recorded."""

    async def recording_start(self, workspace_id: UUID) -> datetime:
        """Returns since when the store knows the workspace; of earlier instants it knows nothing."""

    def restore(self, workspace_id: UUID, as_of: datetime) -> AbstractAsyncContextManager["WorkspaceStore"]:
        """Gives a store with the workspace at an instant, as long as the context is open; what was erased is missing."""

    async def delete_replaced_rows(self, before: datetime) -> None:
        """Deletes what was replaced or deleted before an instant."""


@dataclass(frozen=True, kw_only=True)
class WorkspaceStore:
    """The stores of one database. An adapter is a subclass that may add ``start``, ``check`` and ``aclose``.

    A function that needs a store takes its port, such as `Exports`, and gets the attribute of that type.

    Attributes:
        transfer: moves the content into another store; None if the adapter cannot do so.
    """

    credentials: CredentialStore
    workspace_settings: WorkspaceSettings
    accounts: Accounts
    sessions: Sessions
    passkeys: Passkeys
    passkey_challenges: PasskeyChallenges
    members: Members
    invitations: Invitations
    key_requests: KeyRequests
    signups: Signups
    oauth_grants: OAuthGrants
    oauth_clients: OAuthClients
    one_time_tokens: OneTimeTokens
    transactions: Transactions
    unique_keys: UniqueKeyLookup
    share_link_views: ShareLinkViews
    clicks: ClickStore
    recent_link_clicks: RecentLinkClicks
    links: LinkLookup
    matched_visits: MatchedVisits
    exports: Exports
    export_jobs: ExportJobs
    imports: Imports
    connections: Connections
    encrypted_secrets: EncryptedSecretStore
    poll_states: PollStates
    processed_messages: ProcessedMessages
    sync_leases: SyncLeases
    usage_alerts: UsageAlertLog
    notifications: NotificationOutbox
    email_consents: EmailConsents
    alert_states: AlertStates
    receipts: Receipts
    ad_spend: AdSpendStore
    subscriptions: SubscriptionStore
    item_costs: ItemCostStore
    exchange_rates: ExchangeRateStore
    postback_outbox: PostbackOutbox
    postback_queues: PostbackQueues
    postbacks: PostbackReader
    erasures: Erasures
    personal_records: PersonalRecords
    event_store_record: EventStoreRecord
    transform_gaps: TransformGaps
    history: "WorkspaceHistory"
    transfer: TransferableStore | None = None
