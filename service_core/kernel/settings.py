"""The settings of a deployment: the complete list of what can be configured.

One frozen model per section of ``touchpoint.toml``. An environment variable ``TOUCHPOINT_<SECTION>__<NAME>``
overrides a line of the file. Options of an adapter are part of its URL and not listed here.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from service_core.kernel.history_settings import HistorySettings
from service_core.kernel.settings_section import (
    HostName,
    InternalToken,
    ListenAddress,
    NetworkText,
    OptionalListenAddress,
    PublicUrl,
    SettingsSection,
)
from service_core.kernel.webhooks_settings import DeliveriesSettings, WebhooksSettings

AsgiServer = Literal["hypercorn", "uvicorn", "granian"]
"""ASGI servers that `touchpoint serve` can run."""


class StorageSettings(SettingsSection):
    """Where data is stored."""

    events: str = Field("duckdb:///events.duckdb", description="URL of the event store.")
    workspace: str = Field(
        "sqlite:///workspace.db", description="URL of the store of workspaces, keys and what they own."
    )


class IngestSettings(SettingsSection):
    """How events are received."""

    queue: str = Field("spool:///spool.db", description="URL of the durable queue between ingest and store.")
    mobile_sdks: tuple[str, ...] = Field(
        ("-ios/", "-android/", "-react-native/", "/react-native/", "-flutter/", "-expo/"),
        description="User-Agent substrings of mobile SDKs; their events have the source `mobile_app`.",
    )
    server_sdks: tuple[str, ...] = Field(
        (
            *("-python/", "-node/", "-go/", "-ruby/", "-php/", "-java/"),
            *("python-requests", "axios", "node-fetch"),
        ),
        description="User-Agent substrings of server SDKs; their events have the source `api`.",
    )
    trusted_proxies: tuple[NetworkText, ...] = Field(
        (),
        description="IP addresses or networks of the reverse proxies; forwarded client addresses are trusted "
        "from these only.",
    )
    site_ids: dict[str, str] = Field(
        {},
        description="Ids that tracking code of other products names, to the public id of their workspace.",
    )
    quarantine_retention_days: int = Field(
        90,
        ge=0,
        description="How many days events that could not be stored are kept for re-import; 0 keeps them forever.",
    )


class RateLimitsSettings(SettingsSection):
    """Where rate limits are counted."""

    store: str = Field("memory://", description="URL of the store that counts requests and mutations.")


class ExportSettings(SettingsSection):
    """Who does the jobs of exports and imports, and where their files are stored."""

    queue: str = Field("inline://", description="URL of the job queue that wakes workers.")
    storage: str = Field(
        "local:///exports", description="URL of the file storage; finished exports are kept for seven days."
    )
    max_import_bytes: int = Field(
        2_000_000_000,
        ge=1,
        description="Largest file that may be uploaded to be imported. It lies in the file storage until it is imported.",
    )


class LakeSettings(SettingsSection):
    """Parquet files of all events by day, for programs that read them without this service."""

    storage: str = Field(
        "",
        description="URL of the folder or bucket, e.g. `local:///lake` or `s3://bucket/lake`; empty for none. Each workspace has a "
        "folder in it. Erased persons leave it; when it is emptied here, its files stay where they are.",
    )
    interval_minutes: int = Field(
        60, ge=1, description="How often changed days are written; an erasure is written within a minute."
    )


class GeoSettings(SettingsSection):
    """Geolocation of IP addresses."""

    database: str = Field(
        "", description="URL of the geolocation database, e.g. `mmdb:///city.mmdb`; empty for none."
    )


class DevicesSettings(SettingsSection):
    """Parsing of user agents."""

    user_agent_parser: str = Field("useragent://", description="URL of the user agent parser.")


class DomainsSettings(SettingsSection):
    """Registrable domains of host names."""

    public_suffix_list: str = Field("publicsuffix://", description="URL of the list of public suffixes.")


class AttributionSettings(SettingsSection):
    """How conversions are credited."""

    min_model_conversions: int = Field(
        300,
        ge=1,
        description="Fewest conversions, and fewest paths without conversion, for a data-driven model; with less data "
        "it answers `insufficient_data`.",
    )
    install_window_minutes: int = Field(
        60,
        ge=1,
        le=1440,
        description="How many minutes after a visit an install from the same IP address is matched with it.",
    )


class HttpSettings(SettingsSection):
    """Listen addresses and public URLs."""

    api: ListenAddress = Field("127.0.0.1:8080", description="Address and port of the API.")
    ingest: ListenAddress = Field("127.0.0.1:8081", description="Address and port of the ingest host.")
    redirects: OptionalListenAddress = Field(
        "",
        description="Address and port that serve only redirects; empty for none. The ingest host serves redirects "
        "of the link domain in any case.",
    )
    internal_token: InternalToken = Field(
        "",
        repr=False,
        description="Secret for internal endpoints (`X-Internal-Token`), required together with a key; at least 24 "
        "characters. If empty, internal endpoints refuse every request.",
    )
    server: AsgiServer = Field(
        "hypercorn",
        description="ASGI server of the API: hypercorn, uvicorn or granian. All of them close a connection that is silent for 10 "
        "seconds between requests or within a header, and give a whole request 30 seconds to arrive, except the upload "
        "of an import, which may take as long as its link works. An answer, such "
        "as a long export to a slow client, has an hour to be read. granian runs behind a relay that checks requests.",
    )
    ingest_server: AsgiServer = Field(
        "uvicorn",
        description="ASGI server of the ingest host, likewise. uvicorn takes a quarter of the processor time that "
        "hypercorn takes for an event. It speaks no HTTP/2: where `cleartext_http2` is on and this is not set, hypercorn serves.",
    )
    cleartext_http2: bool = Field(
        False,
        description="Whether clients, such as a proxy, may speak HTTP/2 without TLS; hypercorn and granian can. A "
        "connection on which the client resets many streams (200 on hypercorn) is closed.",
    )
    max_connections: int = Field(
        10_000,
        ge=1,
        description="Most open connections of each process that serves; above it the answer is 503.",
    )
    max_connections_per_address: int = Field(
        1_000,
        ge=1,
        description="Most open connections of one IPv4 address, or one IPv6 network of 64 bits, to each process; above it "
        "the answer is 503. Loopback addresses and `ingest.trusted_proxies` have no limit of their own.",
    )
    root_url: PublicUrl = Field(
        "",
        description="Public URL of the API host, without `/v1`; if empty, `http://` and `http.api`.",
    )
    app_url: PublicUrl = Field(
        "", description="Public URL of the web application; if empty, the API's URL and `/app`."
    )
    ingest_url: PublicUrl = Field(
        "", description="Public URL of the ingest host; if empty, `http://` and `http.ingest`."
    )
    docs_url: PublicUrl = Field(
        "", description="Public URL of the documentation; if empty, the API's URL and `/docs`."
    )

    @property
    def effective_ingest_server(self) -> AsgiServer:
        """The server of the ingest host: one that speaks HTTP/2 where that is on and no server is named."""
        is_named = "ingest_server" in self.model_fields_set
        return "hypercorn" if self.cleartext_http2 and not is_named else self.ingest_server

    @property
    def effective_api_url(self) -> str:
        """Public URL of the API host, without a trailing slash."""
        return (self.root_url or f"http://{_reachable_address(self.api)}").rstrip("/")

    @property
    def effective_app_url(self) -> str:
        """Public URL of the web application, without a trailing slash."""
        return (self.app_url or f"{self.effective_api_url}/app").rstrip("/")

    @property
    def effective_ingest_url(self) -> str:
        """Public URL of the ingest host, without a trailing slash."""
        return (self.ingest_url or f"http://{_reachable_address(self.ingest)}").rstrip("/")

    @property
    def effective_docs_url(self) -> str:
        """Public URL of the documentation, without a trailing slash."""
        return (self.docs_url or f"{self.effective_api_url}/docs").rstrip("/")


_LOOPBACK_BY_WILDCARD_HOST: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - what is listened on, not a choice of ours
"""A wildcard listen address cannot be opened in a browser; its loopback address can, from the same machine."""


def _reachable_address(listen_address: str) -> str:
    host, _, port = listen_address.rpartition(":")
    return f"{_LOOPBACK_BY_WILDCARD_HOST.get(host, host)}:{port}"


SignupMode = Literal["checkout", "verification", "closed"]
"""Effect of ``POST /signup``."""


class SignupSettings(SettingsSection):
    """Whether and how people can sign up."""

    mode: SignupMode = Field(
        "checkout",
        description="`checkout` answers with a checkout link, `verification` mails it to the address first, "
        "`closed` takes no signups.",
    )
    checkout: str = Field(
        "sandbox://",
        description="URL of the checkout. `sandbox://` is for trials: one click confirms a payment.",
    )


class MailSettings(SettingsSection):
    """How e-mails are sent."""

    transport: str = Field(
        "console://",
        description="URL of the e-mail transport; `console://` prints e-mails on the console.",
    )


class AccountsSettings(SettingsSection):
    """How people sign in."""

    password_hashing: str = Field("argon2://", description="URL of the algorithm that hashes passwords.")
    passkeys: str = Field(
        "webauthn://",
        description="URL of the passkey verifier; empty for none. Passkeys need an `https` URL with a host name.",
    )


class ConnectionsSettings(SettingsSection):
    """Connections of workspaces to providers and platforms."""

    encryption_key: str = Field(
        "keyfile:///connections.key",
        description="URL of the key that encrypts the credentials of connections.",
    )


class AdsSettings(SettingsSection):
    """How ad platforms are read."""

    initial_sync_days: int = Field(
        90, ge=28, le=730, description="How many days the first sync of a connection reads back."
    )
    api_urls: dict[str, PublicUrl] = Field(
        {},
        description="API URLs that replace the plugins' defaults, by platform, for example another version: "
        '`{"PLATFORM": "https://api.example.com/v27.0"}`.',
    )


class PostbacksSettings(SettingsSection):
    """How conversions are sent to ad platforms."""

    rate_limits: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {},
        description="How many calls per account and time window a platform accepts, by platform, if it differs from "
        'the plugin\'s default: `{"PLATFORM": 1000}`.',
    )
    api_urls: dict[str, PublicUrl] = Field(
        {}, description="API URLs that replace the plugins' defaults, by platform, as in `ads.api_urls`."
    )
    settle_seconds: int = Field(
        60,
        ge=0,
        le=600,
        description="How many seconds after the latest report of an order its conversion is sent, at most 10 minutes "
        "after the first one, so that it has the value that counts as revenue and the person known by then. "
        "0 sends the first report at once.",
    )


class FxSettings(SettingsSection):
    """Exchange rates."""

    rates: str = Field(
        "",
        description="URL of the source of exchange rates, e.g. `ecb:///`; empty for none. An amount that needs a rate "
        "is then `missing_fx_rate`.",
    )


class RevenueSettings(SettingsSection):
    """How revenue providers are read."""

    ignored_event_types: dict[str, tuple[str, ...]] = Field(
        {},
        description="Event types that are not read from a provider, for example those its webhook endpoint does not "
        'send either: `{"PROVIDER": ["invoice.paid"]}`.',
    )
    visitor_id_fields: dict[str, str] = Field(
        {},
        description="Additional field names in which a provider returns the visitor id, by provider: "
        '`{"PROVIDER": "analytics_id"}`.',
    )
    api_urls: dict[str, PublicUrl] = Field(
        {}, description="API URLs that replace the plugins' defaults, by provider."
    )


IOS_APP_PATTERN: Final = r"^[A-Z0-9]{10}\.[A-Za-z0-9.-]+$"
ANDROID_APP_PATTERN: Final = (
    r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+/[0-9A-F]{2}(:[0-9A-F]{2}){31}$"
)


class LinksSettings(SettingsSection):
    """Trackable links."""

    domain: HostName = Field(
        "",
        description="Host of redirect links, e.g. `go.example.com`; if empty, they redirect under `/l/` of the ingest host. "
        "Do not change it after links are published.",
    )
    redirect_cache: str = Field(
        "",
        description="URL of a redirect cache that several machines share; empty reads the workspace store.",
    )
    dns_resolver: str = Field(
        "dns://",
        description="URL of the DNS resolver that verifies the link domain of a workspace.",
    )
    ios_apps: tuple[Annotated[str, Field(pattern=IOS_APP_PATTERN)], ...] = Field(
        (), description="iOS apps that open links of the domain, as `TEAMID.bundle.id`."
    )
    android_apps: tuple[Annotated[str, Field(pattern=ANDROID_APP_PATTERN)], ...] = Field(
        (),
        description="Android apps that open links of the domain, as `package.name/SHA256:OF:CERTIFICATE`.",
    )


class MonitoringSettings(SettingsSection):
    """Metrics for operators."""

    listen: OptionalListenAddress = Field(
        "",
        description="Address and port of `/metrics`, `/health` and `/ready` for the processes of one command, e.g. "
        "`127.0.0.1:9100`; empty for none. It requires no credential: keep it private.",
    )
    canary_interval_seconds: float = Field(
        60,
        ge=0,
        description="Seconds between test events that measure the time from queue to store, where metrics are "
        "enabled; 0 for never.",
    )


class PluginsSettings(SettingsSection):
    """Plugins of others. A table `[plugins.NAME]` holds the settings of the plugin NAME."""

    model_config = ConfigDict(extra="allow", frozen=True)

    disabled: tuple[str, ...] = Field(
        (),
        description="Names of plugins that are not loaded; `touchpoint --without-plugin NAME` leaves out one more.",
    )
    folder: str = Field(
        "",
        description="Folder of one-file plugins, relative to this file: each `NAME.py` in it is the plugin `NAME`; empty for "
        "none. Whoever can write to it runs code in the service.",
    )
    allowed: dict[str, str] | None = Field(
        None,
        description="Name of a plugin -> hash of its files, as `touchpoint plugins --hashes` prints them. Where it is set, no "
        "other plugin is loaded beside the built-in ones, and none whose files have changed.",
    )
    granted: dict[str, tuple[Literal["credentials", "workspaces"], ...]] = Field(
        {},
        description="Name of a plugin -> what its operations may be given beyond the workspace of the caller: `credentials` "
        "of connections and settings, `workspaces` for stores of all workspaces. The plugin has to declare it, too.",
    )

    @property
    def tables(self) -> dict[str, object]:
        """Name of a plugin -> its table of settings."""
        return dict(self.model_extra or {})


class Settings(SettingsSection):
    """The settings of a deployment. Every section has defaults that work on one machine."""

    storage: StorageSettings = StorageSettings()
    ingest: IngestSettings = IngestSettings()
    rate_limits: RateLimitsSettings = RateLimitsSettings()
    exports: ExportSettings = ExportSettings()
    lake: LakeSettings = LakeSettings()
    geo: GeoSettings = GeoSettings()
    devices: DevicesSettings = DevicesSettings()
    domains: DomainsSettings = DomainsSettings()
    attribution: AttributionSettings = AttributionSettings()
    history: HistorySettings = HistorySettings()
    http: HttpSettings = HttpSettings()
    signup: SignupSettings = SignupSettings()
    mail: MailSettings = MailSettings()
    accounts: AccountsSettings = AccountsSettings()
    connections: ConnectionsSettings = ConnectionsSettings()
    ads: AdsSettings = AdsSettings()
    postbacks: PostbacksSettings = PostbacksSettings()
    webhooks: WebhooksSettings = WebhooksSettings()
    deliveries: DeliveriesSettings = DeliveriesSettings()
    revenue: RevenueSettings = RevenueSettings()
    fx: FxSettings = FxSettings()
    links: LinksSettings = LinksSettings()
    monitoring: MonitoringSettings = MonitoringSettings()
    plugins: PluginsSettings = PluginsSettings()

    @model_validator(mode="after")
    def _require_link_domain(self) -> Self:
        if self.http.redirects and not self.links.domain:
            raise ValueError("http.redirects is set; set links.domain to the host of the redirect links, too")
        return self
