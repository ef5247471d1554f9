"""The settings of a deployment: the only list of what can be configured.

One frozen model per section of ``touchpoint.toml``; an environment variable
``TOUCHPOINT_<SECTION>__<NAME>`` overrides a line of the file. The reference page is generated from
the descriptions below. An adapter's own options stand in its URL, not here.
"""

from ipaddress import ip_network
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from service_core.kernel.listen_address import parse_listen_address

AsgiServer = Literal["hypercorn", "uvicorn", "granian"]
"""ASGI servers `touchpoint serve` can run."""


def _validate_listen_address(address: str) -> str:
    parse_listen_address(address)
    return address


def _validate_optional_listen_address(address: str) -> str:
    return _validate_listen_address(address) if address else address


def _validate_network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is no address and no network, such as 10.0.0.7 or 10.0.0.0/8") from None
    return text


def _validate_public_url(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError(f"{url!r} is no address of a host; write it as https://analytics.example.com")
    return url


def _validate_host_name(name: str) -> str:
    if any(sign in name for sign in "/@ "):
        raise ValueError(f"{name!r} is no host; write a name alone, such as go.example.com")
    return name


def _validate_internal_token(token: str) -> str:
    if token and (len(token) < MIN_TOKEN_LENGTH or not token.isascii()):
        raise ValueError(f"write a token of at least {MIN_TOKEN_LENGTH} ASCII characters, or none")
    return token


MIN_TOKEN_LENGTH: Final = 24
ListenAddress = Annotated[str, AfterValidator(_validate_listen_address)]
"""``HOST:PORT``."""
PublicUrl = Annotated[str, AfterValidator(_validate_public_url)]
"""A web address, or nothing."""
NetworkText = Annotated[str, AfterValidator(_validate_network)]
"""An address, or a network with its prefix."""


class SettingsSection(BaseModel):
    """A table of the settings file: frozen, and without names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StorageSettings(SettingsSection):
    """Where data is kept."""

    events: str = Field("duckdb:///events.duckdb", description="URL of the event store.")
    workspace: str = Field(
        "sqlite:///workspace.db", description="URL of the store of workspaces, keys and what they own."
    )


class IngestSettings(SettingsSection):
    """How events come in."""

    queue: str = Field("spool:///spool.db", description="URL of the durable queue between ingest and store.")
    mobile_sdks: tuple[str, ...] = Field(
        ("touchpoint-ios", "touchpoint-android", "touchpoint-react-native"),
        description="User-Agent parts that mark a mobile SDK; its events have the source `mobile_app`.",
    )
    server_sdks: tuple[str, ...] = Field(
        ("touchpoint-python", "touchpoint-node"),
        description="User-Agent parts that mark a server SDK; its events have the source `api`.",
    )
    trusted_proxies: tuple[NetworkText, ...] = Field(
        (),
        description="Addresses or networks of the proxies in front; only theirs is a forwarded client "
        "address believed.",
    )
    quarantine_days: int = Field(
        90,
        ge=0,
        description="How many days events are kept that could not be stored, so that they can be put back; 0 for "
        "ever.",
    )


class LimitsSettings(SettingsSection):
    """Where request budgets are counted."""

    store: str = Field("memory://", description="URL of the counters of request and mutation budgets.")


class ExportSettings(SettingsSection):
    """Who writes export files, and where they are kept."""

    jobs: str = Field("inline://", description="URL of the queue that wakes workers.")
    sink: str = Field("local:///exports", description="URL of the place where files are kept for seven days.")


class GeoSettings(SettingsSection):
    """Address to place."""

    database: str = Field(
        "", description="URL of the place database, e.g. `mmdb:///city.mmdb`; empty for none."
    )


class DevicesSettings(SettingsSection):
    """User agent to device."""

    parser: str = Field("useragent://", description="URL of the user agent parser.")


class DomainsSettings(SettingsSection):
    """Host name to registrable domain."""

    suffixes: str = Field("publicsuffix://", description="URL of the list of public suffixes.")


class AttributionSettings(SettingsSection):
    """How conversions are credited."""

    floor: int = Field(
        300,
        ge=1,
        description="Conversions, and paths without one, that a data-driven model needs; below, it answers "
        "`insufficient_data`.",
    )
    deferred_minutes: int = Field(
        60,
        ge=1,
        le=1440,
        description="How long after a visit an install from the same address is matched with it.",
    )


class HttpSettings(SettingsSection):
    """What the service listens on, and the addresses it gives out."""

    api: ListenAddress = Field("127.0.0.1:8080", description="Address and port of the API.")
    ingest: ListenAddress = Field("127.0.0.1:8081", description="Address and port of the ingest host.")
    links: Annotated[str, AfterValidator(_validate_optional_listen_address)] = Field(
        "",
        description="Address and port for redirects alone; empty for none. The ingest host answers requests "
        "that name the link domain in any case.",
    )
    internal_token: Annotated[str, AfterValidator(_validate_internal_token)] = Field(
        "",
        repr=False,
        description="Secret that opens internal routes (`X-Internal-Token`) beside a key, at least 24 characters; "
        "empty: they refuse everybody.",
    )
    server: AsgiServer = Field("hypercorn", description="ASGI server: hypercorn, uvicorn or granian.")
    root_url: PublicUrl = Field(
        "",
        description="Public address of the API host, without `/v1`; empty for `http://` and the address above.",
    )
    app_url: PublicUrl = Field(
        "", description="Public address of the web application; empty for the API's address and `/app`."
    )
    ingest_url: PublicUrl = Field(
        "", description="Public address of the ingest host; empty for `http://` and the address above."
    )
    docs_url: PublicUrl = Field(
        "", description="Public address of the documentation; empty for the API's address and `/docs`."
    )

    @property
    def effective_api_url(self) -> str:
        """The root address that answers name, without a slash at its end."""
        return (self.root_url or f"http://{_reachable_address(self.api)}").rstrip("/")

    @property
    def effective_app_url(self) -> str:
        """The address of the web application that answers name, without a slash at its end."""
        return (self.app_url or f"{self.effective_api_url}/app").rstrip("/")

    @property
    def effective_ingest_url(self) -> str:
        """The address of the ingest host that pages name, without a slash at its end."""
        return (self.ingest_url or f"http://{_reachable_address(self.ingest)}").rstrip("/")

    @property
    def effective_docs_url(self) -> str:
        """The address of the documentation that answers name, without a slash at its end."""
        return (self.docs_url or f"{self.effective_api_url}/docs").rstrip("/")


_LOOPBACK_BY_WILDCARD_HOST: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - what is listened on, not a choice of ours
"""Listening on every address of a machine is no address to follow; this one leads there from the machine itself."""


def _reachable_address(listening: str) -> str:
    host, _, port = listening.rpartition(":")
    return f"{_LOOPBACK_BY_WILDCARD_HOST.get(host, host)}:{port}"


SignupMode = Literal["checkout", "verification", "closed"]
"""What ``POST /signup`` does."""


class SignupSettings(SettingsSection):
    """Whether and how strangers may sign up."""

    mode: SignupMode = Field(
        "checkout",
        description="`checkout` answers with a checkout link, `verification` mails it to the address first, "
        "`closed` takes no signups.",
    )
    checkout: str = Field(
        "sandbox://",
        description="URL of the checkout. `sandbox://` is for trying out: everybody pays by a click.",
    )


class MailSettings(SettingsSection):
    """How mail to people leaves."""

    outbox: str = Field(
        "console://",
        description="URL of the outgoing mail; `console://` prints it for whoever runs the service.",
    )


class AccountsSettings(SettingsSection):
    """People who sign in."""

    passwords: str = Field("argon2://", description="URL of the function that hashes passwords.")
    passkeys: str = Field(
        "webauthn://",
        description="URL of what reads passkeys; empty for none. They need an `https` address with a host name.",
    )


class ConnectionsSettings(SettingsSection):
    """What a workspace has connected."""

    key: str = Field(
        "keyfile:///connections.key", description="URL of the key that seals credentials of connections."
    )
    visitor_names: dict[str, str] = Field(
        {},
        description="Names under which revenue providers carry the visitor's id back, by provider, besides those "
        'their pages tell: `{"revenuecat": "analytics_id"}`.',
    )


class AdsSettings(SettingsSection):
    """How ad platforms are read."""

    first_days: int = Field(
        90, ge=28, le=730, description="How many days back the first reading of a connection goes."
    )
    apis: dict[str, PublicUrl] = Field(
        {},
        description="Addresses of APIs instead of those the plugins know, by platform, such as that of another "
        'version: `{"meta": "https://graph.facebook.com/v27.0"}`.',
    )


class PostbacksSettings(SettingsSection):
    """How conversions are sent to ad platforms."""

    calls: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {},
        description="How many calls to one account a platform takes in the time its plugin knows, by platform, "
        'where it is another number: `{"meta": 1000}`.',
    )
    apis: dict[str, PublicUrl] = Field(
        {}, description="Addresses of APIs instead of those the plugins know, by platform, as in `ads.apis`."
    )


class FxSettings(SettingsSection):
    """Money of other currencies."""

    rates: str = Field(
        "",
        description="URL of the source of exchange rates, e.g. `ecb:///`; empty for none: a sum that needs a rate "
        "is `missing_fx_rate`.",
    )


class RevenueSettings(SettingsSection):
    """How revenue providers are read."""

    left_out: dict[str, tuple[str, ...]] = Field(
        {},
        description="Kinds of messages that are not asked for, by provider, such as those its webhook endpoint does "
        'not send either: `{"stripe": ["payment_intent.succeeded"]}`.',
    )
    apis: dict[str, PublicUrl] = Field(
        {}, description="Addresses of APIs instead of those the plugins know, by provider."
    )


IOS_APP_PATTERN: Final = r"^[A-Z0-9]{10}\.[A-Za-z0-9.-]+$"
ANDROID_APP_PATTERN: Final = (
    r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+/[0-9A-F]{2}(:[0-9A-F]{2}){31}$"
)


class LinksSettings(SettingsSection):
    """Trackable links."""

    domain: Annotated[str, AfterValidator(_validate_host_name)] = Field(
        "",
        description="Host of redirect links, e.g. `go.example.com`; empty for direct links only. It never "
        "changes once links are published.",
    )
    edge: str = Field(
        "",
        description="URL of a memory of redirects that several machines share; empty reads the workspace store.",
    )
    dns: str = Field(
        "dns://",
        description="URL of the name servers that are asked for the proof of a workspace's own link domain.",
    )
    ios_apps: tuple[Annotated[str, Field(pattern=IOS_APP_PATTERN)], ...] = Field(
        (), description="Apps that open links of the domain on iOS, as `TEAMID.bundle.id`."
    )
    android_apps: tuple[Annotated[str, Field(pattern=ANDROID_APP_PATTERN)], ...] = Field(
        (),
        description="Apps that open links of the domain on Android, as `package.name/SHA256:OF:CERTIFICATE`.",
    )


class MonitoringSettings(SettingsSection):
    """What an operator watches."""

    listen: Annotated[str, AfterValidator(_validate_optional_listen_address)] = Field(
        "",
        description="Address and port that answer `/metrics`, `/health` and `/ready` for the processes of one "
        "command, e.g. `127.0.0.1:9100`; empty for none. It takes no credential: keep it private.",
    )
    canary_seconds: float = Field(
        60,
        ge=0,
        description="How often an event of a reserved workspace is sent through queue and store to see how "
        "long it takes, where metrics are shown; 0 for never.",
    )


class Settings(SettingsSection):
    """A deployment. Every section and every line has a default that works on one machine."""

    storage: StorageSettings = StorageSettings()
    ingest: IngestSettings = IngestSettings()
    limits: LimitsSettings = LimitsSettings()
    exports: ExportSettings = ExportSettings()
    geo: GeoSettings = GeoSettings()
    devices: DevicesSettings = DevicesSettings()
    domains: DomainsSettings = DomainsSettings()
    attribution: AttributionSettings = AttributionSettings()
    http: HttpSettings = HttpSettings()
    signup: SignupSettings = SignupSettings()
    mail: MailSettings = MailSettings()
    accounts: AccountsSettings = AccountsSettings()
    connections: ConnectionsSettings = ConnectionsSettings()
    ads: AdsSettings = AdsSettings()
    postbacks: PostbacksSettings = PostbacksSettings()
    revenue: RevenueSettings = RevenueSettings()
    fx: FxSettings = FxSettings()
    links: LinksSettings = LinksSettings()
    monitoring: MonitoringSettings = MonitoringSettings()

    @model_validator(mode="after")
    def _require_link_domain(self) -> Self:
        if self.http.links and not self.links.domain:
            raise ValueError(
                "http.links names an address for redirects; name their host in links.domain, too"
            )
        return self
