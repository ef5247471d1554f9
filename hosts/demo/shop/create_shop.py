"""Creates the example shop in a new deployment, before its service starts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hosts.composition.compose import Service
from hosts.composition.providers import build_message_store
from hosts.data_import.enqueue import EventImporter
from hosts.demo.shop.ad_accounts import PLATFORMS, ExampleAdPlatform, account_of_platform
from hosts.demo.shop.catalog import CURRENCY, DAYS, OWNER_EMAIL, PRODUCTS, SHOP_DOMAIN, SHOP_NAME
from hosts.demo.shop.crawlers import generate_crawler_requests
from hosts.demo.shop.saved_work import create_links, create_saved_work, record_of_answer
from hosts.demo.shop.subscriptions import (
    CLUB,
    CLUB_PLUS,
    EARLIER_SUBSCRIBERS,
    PROVIDER,
    Subscriber,
    subscription_deliveries,
)
from hosts.demo.shop.visits import VisitGenerator
from service_core.access.api_keys import CreatedWorkspace, create_workspace_with_keys
from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.members.membership import AddedMember, add_member_with_password_link_if_needed
from service_core.access.members.sign_in import SignIn
from service_core.access.models import AuthContext, Workspace
from service_core.access.roles import Role
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.api.http_messages import ApiRequest
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.costs.import_schemas import CostImport
from service_core.commerce.costs.validate_import import validate_cost_rows
from service_core.ingestion.import_sources.models import ImportEntry

_RULE_PLATFORM: Final = "meta"
_SECRET_OF_NOBODY: Final = {"access_token": "example"}
_SUBSCRIBING_EVERY: Final = 6
"""Of so many customers one subscribes, some days after signing up."""


@dataclass(frozen=True, slots=True)
class ExampleShop:
    """The example shop.

    Attributes:
        session_secret: of a session in which its owner is signed in.
    """

    workspace: Workspace
    session_secret: str = field(repr=False)


async def create_example_shop(service: Service, *, owned_too: Workspace) -> ExampleShop:
    """Creates the shop with its owner, and all there is to see in it.

    Events are imported, spend and subscriptions synced, and saved work is written through the API. The events wait in
    the queue until a consumer stores them.

    Args:
        service: a deployment that has been started and that nobody serves yet.
        owned_too: a further workspace of the owner.

    Raises:
        StartupError: the API refused something.
    """
    now, store = service.ports.clock().replace(microsecond=0), service.ports.workspace
    shop = await create_workspace_with_keys(
        store.credentials, now, name=SHOP_NAME, currency=CURRENCY, domain=SHOP_DOMAIN
    )
    for workspace in (owned_too, shop.workspace):
        owner = await add_member_with_password_link_if_needed(
            store.accounts, store.members, workspace, email=OWNER_EMAIL, role=Role.OWNER, now=now
        )
    api = _OwnerApi(service, shop.workspace, owner, now)
    await _connect_and_sync_ads(service, shop.workspace, now)
    await _import_item_costs(service, shop.workspace, now)
    visits = VisitGenerator(now, await create_links(api.write))
    entries = [*visits.events(), *generate_crawler_requests(now)]
    await _enqueue_events_and_subscriptions(service, shop, entries, now)
    await create_saved_work(api.write, _RULE_PLATFORM, now.date())
    session = await service.component(SignIn).open_session(owner.account)
    return ExampleShop(shop.workspace, session.secret)


@dataclass(frozen=True, slots=True)
class _OwnerApi:
    """Sends requests to the API as the owner of the shop does in the web application."""

    service: Service
    workspace: Workspace
    owner: AddedMember
    now: datetime

    async def write(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sends a ``POST`` request; returns the record it saved.

        Raises:
            StartupError: it was refused.
        """
        caller = build_dashboard_caller_with_role_scopes(
            self.owner.account, self.owner.member, self.workspace, self.now
        )
        answer = await self.service.dispatch(
            ApiRequest(
                "POST",
                f"/v1{path}",
                headers={"content-type": "application/json"},
                body=json.dumps(body).encode(),
                interface=caller.interface,
                auth_context=AuthContext(caller.credential, caller.workspace, caller.acting_user),
            )
        )
        return record_of_answer("POST", path, answer.status, answer.body)


async def _connect_and_sync_ads(service: Service, workspace: Workspace, now: datetime) -> None:
    """Connects the ad platforms and reads their invented spend; no credential stays, so nobody reads them again."""
    ports, connections = service.ports, service.ports.workspace.connections
    for platform in PLATFORMS:
        account = account_of_platform(platform)
        connected = ConnectedAccount(account.id, account.name, (Asset(f"{platform}-pixel", "Shop"),))
        await ports.connection_secrets.replace_or_delete_secrets(workspace.id, platform, _SECRET_OF_NOBODY)
        await connections.save_connection_keeping_created_at(
            Connection(workspace.id, platform, ProviderKind.ADS, ConnectionStatus.PENDING, now, (connected,))
        )
    platforms = {name: ExampleAdPlatform(ports.registry.ad_platforms[name], now) for name in PLATFORMS}
    sync = ports.build_from_adapters(AdSpendSync, platforms=platforms, first_days=DAYS)
    await sync.sync_workspace_unless_leased(workspace.id, ignore_schedule=True)
    for platform in PLATFORMS:
        await ports.connection_secrets.replace_or_delete_secrets(workspace.id, platform, {})


async def _import_item_costs(service: Service, workspace: Workspace, now: datetime) -> None:
    """Imports what each product and each month of the club costs, with packing and sending it."""
    costs = {product.sku: (product.unit_cost, 210) for product in PRODUCTS}
    costs |= {CLUB.product: (760, 240), CLUB_PLUS.product: (1380, 260)}
    lines = [f"{sku},{unit / 100},{handling / 100}" for sku, (unit, handling) in costs.items()]
    first_day = (now - timedelta(days=400)).date().isoformat()
    wanted = CostImport(csv="\n".join(("sku,unit_cost,handling_cost", *lines)), effective_from=first_day)
    validated = validate_cost_rows(wanted, workspace)
    await service.ports.workspace.item_costs.save_or_replace_costs(
        workspace.id, validated.import_id, validated.costs, now
    )


async def _enqueue_events_and_subscriptions(
    service: Service, shop: CreatedWorkspace, entries: list[ImportEntry], now: datetime
) -> None:
    """Enqueues the events and the messages of the payment provider; the service stores them once it runs."""
    ports, workspace = service.ports, shop.workspace
    await ports.workspace.connections.save_connection_keeping_created_at(
        Connection(workspace.id, PROVIDER, ProviderKind.REVENUE, ConnectionStatus.CONNECTED, now)
    )
    deliveries = subscription_deliveries(_select_subscribers(entries), now)
    provider = ports.registry.revenue_providers[PROVIDER]
    await build_message_store(ports, service.settings).store_new_messages(workspace.id, provider, deliveries)
    importer = EventImporter(ports.queue, shop.write_key.credential, ports.clock)
    await importer.enqueue_in_batches(entries, lambda _: None)


def _select_subscribers(entries: list[ImportEntry]) -> list[Subscriber]:
    """Returns the customers who subscribe after they signed up on the site."""
    sign_ups = [entry.body for entry in entries if entry.body and entry.body["event"] == "$identify"]
    return [
        Subscriber(
            EARLIER_SUBSCRIBERS + 1 + number,
            body["properties"]["traits"]["email"],
            datetime.fromisoformat(body["timestamp"]) + timedelta(days=2),
            body["user_id"],
        )
        for number, body in enumerate(sign_ups[::_SUBSCRIBING_EVERY])
    ]
