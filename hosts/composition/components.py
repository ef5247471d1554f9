"""The components of the API process, each built from ports, settings and the components before it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hosts.composition.bindings import Bindings, build_resource_types
from hosts.composition.client_metadata_fetcher import HttpsClientMetadataFetcher
from hosts.composition.ports import PORTS, Ports
from hosts.composition.providers import build_ad_sync, build_pollable_provider_sync
from hosts.disk_probe import build_disk_probes
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.key_requests.approvals import Approvals
from service_core.access.members.sign_in import SignIn
from service_core.access.oauth.authorization import AuthorizationEndpoint
from service_core.access.oauth.client_metadata import ClientMetadataDocuments
from service_core.access.oauth.client_registration import ClientRegistration
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.oauth.ports import ClientMetadataFetcher
from service_core.access.oauth.token_endpoint import TokenEndpoint
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.models import relying_party_unless_insecure_or_bare_ip
from service_core.access.public_urls import PublicUrls
from service_core.access.rate_limits import RateLimits
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.signup.create import SignupCreator
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.plugin_check import PluginCheckedConnections
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.connections.unavailable_relations_source import add_source_for_unserved_relations
from service_core.analytics.freshness import CachedGapHours, EventFreshness
from service_core.analytics.history.past_sources import SourceWithoutHistory
from service_core.analytics.install_attribution.match import InstallMatcher
from service_core.analytics.ports import AggregateReader
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.currency import CurrencyConvertingSource
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.sources import EventSource, Source
from service_core.api.openapi import HostUrls
from service_core.api.operations import OpenApiDocument
from service_core.api.readiness import (
    Probe,
    ReadinessChecker,
    build_change_version_probe,
    build_limiter_probe_by_consuming,
    build_queue_age_and_ledger_probe,
    build_store_probe_with_newest_event,
    build_stored_version_probe,
    with_write_check,
)
from service_core.changes.batched_writes import WriteRoutes
from service_core.changes.change_executor import ChangeExecutor
from service_core.commerce.ads.ad_credits import UtmMatchedAdCredits
from service_core.commerce.ads.measured_platforms import MeasuredPlatforms
from service_core.commerce.ads.ports import AdPlatforms
from service_core.commerce.ads.source import SpendSource
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.ads.unmeasured_platforms import UnmeasuredPlatforms
from service_core.commerce.costs.source import CostSource
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.subscriptions.source import SubscriptionSource
from service_core.commerce.sync.freshness import ProviderFreshness
from service_core.delivery.postbacks.metrics_source import PostbackSource
from service_core.documentation.site import Documentation
from service_core.ingestion.import_sources.ports import ImportSources
from service_core.kernel.settings import Settings
from service_core.workspace.approvals.decision import ApprovalDecisions
from service_core.workspace.approvals.filing import ApprovalFiling
from service_core.workspace.notifications.recipients import RecipientStatuses
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.reports.run_report import ReportRunner
from service_core.workspace.rules.postback_platforms import PostbackPlatforms
from service_core.workspace.segments.stored_segments import StoredSegments
from service_core.workspace.share_links.access import ShareLinkAccess, ViewCounter
from service_core.workspace.share_links.cached_results import SharedResults
from service_core.workspace.share_links.password_access import SharePasswordAccess
from service_core.workspace.time_budget import Sleep


def build_all_components(
    ports: Ports, settings: Settings, *, sleep: Sleep, probes: Sequence[Probe], processes: int
) -> Bindings:
    """Returns the bindings of a deployment, every component in them built.

    Args:
        ports: its adapters.
        settings: its settings.
        sleep: waits until the time budget of a report run is over.
        probes: further probes of readiness.
        processes: how many processes answer requests.

    Raises:
        StartupError: a component requests a type that nothing provides, or a setting does not fit.
    """
    bindings, registry = _bind_adapters_and_registry(ports, settings), ports.registry
    _bind_access_components(bindings, settings, processes)
    _bind_query_components(bindings, ports, settings)
    _bind_workspace_components(bindings, ports, sleep)
    bindings.bind(AdSpendSync, build_ad_sync(ports, settings))
    bindings.bind(ProviderSync, build_pollable_provider_sync(ports, settings))
    bindings.build_and_bind(Documentation, url=settings.http.effective_docs_url)
    bindings.build_and_bind(OpenApiDocument, operations=registry.operations, host_urls=_host_urls(settings))
    bindings.build_and_bind(ReadinessChecker, probes=[*_build_readiness_probes(ports), *probes])
    return bindings


def build_report_batch_runner(ports: Ports, settings: Settings) -> ReportBatchRunner:
    """Returns what runs reports in a process that answers no requests."""
    bindings = _bind_adapters_and_registry(ports, settings)
    _bind_query_components(bindings, ports, settings)
    bindings.build_and_bind(ReportRunner)
    return bindings.build_with_bound_arguments(ReportBatchRunner, sleep=asyncio.sleep)


def _bind_adapters_and_registry(ports: Ports, settings: Settings) -> Bindings:
    """Returns bindings of the adapters, the settings and what plugins registered for queries."""
    bindings, registry = ports.bindings_of_all_adapters(), ports.registry
    bindings.bind(Settings, settings)
    bindings.bind(Catalog, registry.catalog)
    bindings.bind(ImportSources, ImportSources(registry.import_sources))
    bindings.bind(InstalledProviders, registry.connectable_providers)
    bindings.bind(
        Connections, PluginCheckedConnections(ports.workspace.connections, registry.connectable_providers)
    )
    bindings.bind(AdPlatforms, AdPlatforms(registry.ad_platforms))
    bindings.bind(AggregateReader, ports.money_reader)
    return bindings


def _host_urls(settings: Settings) -> HostUrls:
    """Returns where the hosts are reached; the link host only when a domain is set."""
    domain = settings.links.domain
    return HostUrls(
        settings.http.effective_api_url,
        settings.http.effective_ingest_url,
        f"https://{domain}" if domain else None,
    )


def _bind_access_components(bindings: Bindings, settings: Settings, processes: int) -> None:
    """Binds who may do what: authentication, limits, sign-in, sign-up and OAuth."""
    http = settings.http
    root_url, web_url = http.effective_api_url, http.effective_app_url
    bindings.build_and_bind(RateLimits, processes=processes)
    bindings.build_and_bind(KeyAuthenticator)
    bindings.build_and_bind(RequestAuthenticator, internal_token=http.internal_token)
    bindings.build_and_bind(PublicUrls, root_url=root_url, web_url=web_url)
    bindings.build_and_bind(SignIn)
    bindings.build_and_bind(PasskeySignIn, party=relying_party_unless_insecure_or_bare_ip(web_url))
    bindings.build_and_bind(ServerMetadata, root_url=root_url)
    bindings.bind(ClientMetadataFetcher, HttpsClientMetadataFetcher())
    bindings.build_and_bind(ClientMetadataDocuments)
    bindings.build_and_bind(AuthorizationEndpoint)
    bindings.build_and_bind(TokenEndpoint)
    bindings.build_and_bind(ClientRegistration)
    bindings.build_and_bind(Approvals)
    bindings.build_and_bind(PaymentPage)
    bindings.build_and_bind(SignupCreator, mode=settings.signup.mode, web_url=web_url)
    bindings.build_and_bind(SignupPayments, web_url=web_url)


def _bind_query_components(bindings: Bindings, ports: Ports, settings: Settings) -> None:
    """Binds the sources of metrics, and what queries them."""
    _bind_metric_sources(bindings, ports, settings, _build_postback_source(bindings, ports))
    window = timedelta(minutes=settings.attribution.install_window_minutes)
    bindings.build_and_bind(InstallMatcher, window=window)


def _build_postback_source(bindings: Bindings, ports: Ports) -> PostbackSource:
    return bindings.build_with_bound_arguments(PostbackSource, platforms=ports.registry.conversion_senders)


def _bind_metric_sources(bindings: Bindings, ports: Ports, settings: Settings, postbacks: Source) -> None:
    credited = _bind_attribution(bindings, ports, settings)
    gaps = bindings.build_and_bind(CachedGapHours)
    bindings.build_and_bind(EventFreshness, gaps=gaps)
    in_many_currencies = (
        bindings.build_with_bound_arguments(SpendSource),
        bindings.build_with_bound_arguments(SubscriptionSource),
    )
    sources: list[Source] = [
        bindings.build_with_bound_arguments(
            EventSource,
            events=credited,
            paths=credited,
            provider_freshness=bindings.build_with_bound_arguments(ProviderFreshness),
            gaps=gaps,
        ),
        *(
            in_many_currencies
            if ports.fx is None
            else (
                bindings.build_with_bound_arguments(CurrencyConvertingSource, source=source)
                for source in in_many_currencies
            )
        ),
        bindings.build_and_bind(CostSource),
        postbacks,
    ]
    # mypy takes a protocol for no type that can be requested.
    connections = bindings.get_or_build(Connections)  # type: ignore[type-abstract]
    providers = ports.registry.connectable_providers
    _bind_metric_queries(bindings, ports, add_source_for_unserved_relations(sources, connections, providers))


def bind_past_query_components(ports: Ports, settings: Settings) -> Bindings:
    """Returns the bindings of reads at an earlier instant.

    Args:
        ports: the adapters of the instant.
        settings: of the deployment.
    """
    bindings = _bind_adapters_and_registry(ports, settings)
    postbacks = SourceWithoutHistory(_build_postback_source(bindings, ports))
    _bind_metric_sources(bindings, ports, settings, postbacks)
    return bindings


def _bind_attribution(bindings: Bindings, ports: Ports, settings: Settings) -> UtmMatchedAdCredits:
    """Binds attribution models, and returns the reader of credits."""
    minimum = settings.attribution.min_model_conversions
    bindings.bind(AttributionModels, replace(ports.registry.models, min_conversions=minimum))
    bindings.build_and_bind(MeasuredPlatforms)
    return bindings.build_with_bound_arguments(UtmMatchedAdCredits, events=ports.money_reader)


def _bind_metric_queries(bindings: Bindings, ports: Ports, sources: tuple[Source, ...]) -> None:
    bindings.build_and_bind(
        MetricQueries,
        sources=sources,
        segments=bindings.build_with_bound_arguments(StoredSegments),
        unmeasured_platforms=UnmeasuredPlatforms(
            ports.money_reader, bindings.get_or_build(MeasuredPlatforms)
        ),
    )


def _bind_workspace_components(bindings: Bindings, ports: Ports, sleep: Sleep) -> None:
    """Binds writable resources, reports and public pages."""
    registry = ports.registry
    bindings.build_and_bind(RecipientStatuses)
    bindings.bind(
        PostbackPlatforms,
        PostbackPlatforms.from_platforms(sender.platform for sender in registry.conversion_senders.values()),
    )
    bindings.bind(WriteRoutes, WriteRoutes())
    bindings.build_and_bind(ChangeExecutor, resource_types=build_resource_types(registry.resources, bindings))
    bindings.build_and_bind(ApprovalFiling)
    bindings.build_and_bind(ApprovalDecisions)
    bindings.build_and_bind(ReportRunner)
    bindings.build_and_bind(ReportBatchRunner, sleep=sleep)
    bindings.build_and_bind(ShareLinkAccess)
    bindings.build_and_bind(SharePasswordAccess)
    bindings.build_and_bind(ViewCounter)
    bindings.build_and_bind(SharedResults)


def _build_readiness_probes(ports: Ports) -> tuple[Probe, ...]:
    return (
        with_write_check(
            build_store_probe_with_newest_event(ports.events, ports.workspace.credentials),
            ports.events,
            PORTS["events"].setting,
        ),
        build_queue_age_and_ledger_probe(ports.queue, ports.workspace.credentials, ports.clock),
        build_limiter_probe_by_consuming(ports.limits),
        with_write_check(
            build_change_version_probe(ports.workspace.credentials),
            ports.workspace,
            PORTS["workspace"].setting,
        ),
        build_stored_version_probe((ports.events, ports.workspace, ports.queue)),
        *build_disk_probes(ports.database_folders),
    )
