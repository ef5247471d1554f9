"""The workspace store on an SQL database."""

from dataclasses import dataclass
from typing import ClassVar

from plugins.workspace_sql.accounts import SqlAccounts, SqlSessions
from plugins.workspace_sql.ad_spend import SqlAdSpend
from plugins.workspace_sql.alert_states import SqlAlertStates
from plugins.workspace_sql.clicks import SqlClicks, SqlLinkLookup, SqlRecentLinkClicks
from plugins.workspace_sql.connections import (
    SqlConnections,
    SqlEncryptedSecrets,
    SqlPollStates,
    SqlProcessedMessages,
)
from plugins.workspace_sql.credentials import SqlCredentials, SqlWorkspaceSettings
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.erasures import SqlErasures, SqlPersonalRecords
from plugins.workspace_sql.event_store_record import SqlEventStoreRecord
from plugins.workspace_sql.exchange_rates import SqlExchangeRates
from plugins.workspace_sql.exports import SqlExportJobs, SqlExports
from plugins.workspace_sql.imports import SqlImports
from plugins.workspace_sql.item_costs import SqlItemCosts
from plugins.workspace_sql.key_requests import SqlKeyRequests
from plugins.workspace_sql.matched_visits import SqlMatchedVisits
from plugins.workspace_sql.members import SqlInvitations, SqlMembers
from plugins.workspace_sql.notifications import SqlEmailConsents, SqlNotificationOutbox
from plugins.workspace_sql.oauth import SqlOAuthClients, SqlOAuthGrants, SqlOneTimeTokens
from plugins.workspace_sql.passkeys import SqlPasskeyChallenges, SqlPasskeys
from plugins.workspace_sql.past_rows import SqlWorkspaceHistory
from plugins.workspace_sql.postbacks import SqlPostbackOutbox, SqlPostbackQueues, SqlPostbackReader
from plugins.workspace_sql.postgresql import PostgresDatabase
from plugins.workspace_sql.receipts import SqlReceipts
from plugins.workspace_sql.settings import PostgresSettings, SqliteSettings
from plugins.workspace_sql.signups import SqlSignups
from plugins.workspace_sql.sqlite import SqliteDatabase
from plugins.workspace_sql.subscriptions import SqlSubscriptions
from plugins.workspace_sql.sync_leases import SqlSyncLeases
from plugins.workspace_sql.transactions import SqlTransactions
from plugins.workspace_sql.transfer import SqlTransfer
from plugins.workspace_sql.transform_gaps import SqlTransformGaps
from plugins.workspace_sql.unique_keys import SqlShareLinkViews, SqlUniqueKeyLookup
from plugins.workspace_sql.usage_alerts import SqlUsageAlerts
from service_core.plugin import WorkspaceStore


@dataclass(frozen=True, kw_only=True)
class SqlWorkspaceStore(WorkspaceStore):
    """The stores of one database."""

    start_limit_seconds: ClassVar[float | None] = None
    """No limit: a new version may have to convert large tables."""

    database: Database

    async def start(self) -> None:
        """Opens the database, and creates its tables if it has none."""
        await self.database.start()

    async def has_tables(self) -> bool:
        """Returns whether the database has the tables of a store already; creates nothing."""
        return await self.database.has_tables()

    async def check(self) -> None:
        """Checks that the database can be opened."""
        await self.database.check()

    async def check_stored_version(self) -> None:
        """Checks that the open database has a schema that this version knows."""
        await self.database.check_stored_version()

    async def takes_writes(self) -> bool:
        """Returns whether the open database takes writes; True for a file, whose folder is tried."""
        return await self.database.takes_writes()

    async def aclose(self) -> None:
        """Closes the database."""
        await self.database.aclose()


def open_store(settings: SqliteSettings | PostgresSettings) -> SqlWorkspaceStore:
    """Returns the store on a database, not started. The type of the settings decides on the engine.

    Raises:
        StartupError: the driver of the database is not installed.
    """
    return _stores_on(
        SqliteDatabase(settings) if isinstance(settings, SqliteSettings) else PostgresDatabase(settings)
    )


def _stores_on(database: Database) -> SqlWorkspaceStore:
    return SqlWorkspaceStore(
        database=database,
        credentials=SqlCredentials(database),
        workspace_settings=SqlWorkspaceSettings(database),
        accounts=SqlAccounts(database),
        sessions=SqlSessions(database),
        passkeys=SqlPasskeys(database),
        passkey_challenges=SqlPasskeyChallenges(database),
        members=SqlMembers(database),
        invitations=SqlInvitations(database),
        key_requests=SqlKeyRequests(database),
        signups=SqlSignups(database),
        oauth_grants=SqlOAuthGrants(database),
        oauth_clients=SqlOAuthClients(database),
        one_time_tokens=SqlOneTimeTokens(database),
        transactions=SqlTransactions(database),
        unique_keys=SqlUniqueKeyLookup(database),
        share_link_views=SqlShareLinkViews(database),
        clicks=SqlClicks(database),
        recent_link_clicks=SqlRecentLinkClicks(database),
        links=SqlLinkLookup(database),
        matched_visits=SqlMatchedVisits(database),
        exports=SqlExports(database),
        export_jobs=SqlExportJobs(database),
        imports=SqlImports(database),
        connections=SqlConnections(database),
        encrypted_secrets=SqlEncryptedSecrets(database),
        poll_states=SqlPollStates(database),
        processed_messages=SqlProcessedMessages(database),
        sync_leases=SqlSyncLeases(database),
        usage_alerts=SqlUsageAlerts(database),
        notifications=SqlNotificationOutbox(database),
        email_consents=SqlEmailConsents(database),
        alert_states=SqlAlertStates(database),
        receipts=SqlReceipts(database),
        ad_spend=SqlAdSpend(database),
        subscriptions=SqlSubscriptions(database),
        item_costs=SqlItemCosts(database),
        exchange_rates=SqlExchangeRates(database),
        postback_outbox=SqlPostbackOutbox(database),
        postback_queues=SqlPostbackQueues(database),
        postbacks=SqlPostbackReader(database),
        erasures=SqlErasures(database),
        personal_records=SqlPersonalRecords(database),
        event_store_record=SqlEventStoreRecord(database),
        transform_gaps=SqlTransformGaps(database),
        history=SqlWorkspaceHistory(database, _stores_on),
        transfer=SqlTransfer(database),
    )
