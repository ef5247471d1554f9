"""A deployment put together from settings and plugins: ports by type, one of each, started and closed in order."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Protocol

import pytest

from hosts.composition.compose import compose
from hosts.composition.ports import PORTS as DECLARED
from hosts.composition.ports import Ports, start_adapters
from service_core import builtin
from service_core.access.models import Caller
from service_core.access.ports import CredentialStore
from service_core.analytics.funnels.ports import FunnelReader
from service_core.analytics.ports import AggregateReader
from service_core.analytics.query.catalog import Catalog
from service_core.api.http_messages import ApiRequest
from service_core.api.readiness import Probe, ProbeResult
from service_core.extensions.adapters import Adapter
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.ports import EventStore, GeoLocator, IngestQueue, QueueState
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import RateLimitClass, RoutePrefix, operation
from service_core.kernel.settings import Settings

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
SETTINGS = Settings.model_validate(
    {
        "storage": {"events": "fake://", "workspace": "fake://"},
        "ingest": {"queue": "fake://"},
        "rate_limits": {"store": "fake://"},
        "exports": {"queue": "fake://", "storage": "fake://"},
        "devices": {"user_agent_parser": "fake://"},
        "domains": {"public_suffix_list": "fake://"},
        "accounts": {"password_hashing": "fake://", "passkeys": "fake://"},
        "mail": {"transport": "fake://"},
        "signup": {"checkout": "fake://"},
        "links": {"dns_resolver": "fake://"},
        "connections": {"encryption_key": "fake://"},
    }
)


class FakeAdapter:
    """Any port: remembers what happened to it."""

    def __init__(self, name, diary, fails):
        self.name, self.diary, self.fails = name, diary, fails
        diary.append(f"open {name}")

    async def start(self):
        if self.name in self.fails:
            raise StartupError(f"{self.name} cannot start")
        self.diary.append(f"start {self.name}")

    async def aclose(self):
        self.diary.append(f"close {self.name}")

    def change_version(self):
        return 0

    async def list_workspaces(self):
        return []

    async def first_and_last_event_time(self, workspace_id):
        return None

    async def state(self):
        return QueueState(0, None)

    async def consume(self, key, limit, window_seconds):
        return None

    async def find_event_store(self):
        return None

    async def save_event_store(self, store):
        pass

    @property
    def credentials(self):
        return self

    event_store_record = credentials

    def __getattr__(self, name):
        """Any store of the workspace adapter."""
        if name.startswith("_"):
            raise AttributeError(name)
        return object()


PORTS = (
    "workspace",
    "limits",
    "queue",
    "dns",
    "events",
    "jobs",
    "export_storage",
    "devices",
    "domains",
    "passwords",
    "passkeys",
    "secret_cipher",
    "mail",
    "checkout",
)


class FakeDeployment:
    def __init__(self):
        self.diary = []
        self.fails = set()
        self.operations = []

    def registry(self):
        adapters = [
            Adapter(
                port=name, scheme="fake", open=lambda _, name=name: FakeAdapter(name, self.diary, self.fails)
            )
            for name in PORTS
        ]
        fakes = SimpleNamespace(adapters=hook(lambda: adapters), operations=hook(lambda: self.operations))
        return collect_plugins_into_registry(
            [("builtin", builtin), ("fakes", fakes)], discover_entry_points=False
        )

    def compose(self, **more):
        return compose(SETTINGS, Path("data"), registry=self.registry(), clock=lambda: NOW, **more)


@pytest.fixture
def fake_deployment():
    return FakeDeployment()


async def get_json(service, path):
    return await service.dispatch(ApiRequest("GET", path))


async def test_adapters_start_in_order_and_close_in_the_opposite_one(fake_deployment):
    async with fake_deployment.compose():
        assert fake_deployment.diary[-len(PORTS) :] == [f"start {name}" for name in PORTS]
    assert fake_deployment.diary[-len(PORTS) :] == [f"close {name}" for name in reversed(PORTS)]
    assert len([entry for entry in fake_deployment.diary if entry.startswith("open")]) == len(PORTS)


async def test_failed_start_closes_what_was_started(fake_deployment):
    fake_deployment.fails = {"queue"}
    with pytest.raises(StartupError, match="queue cannot start"):
        async with fake_deployment.compose():
            pass
    assert fake_deployment.diary[-2:] == ["close limits", "close workspace"]


async def test_only_the_needed_ports_are_opened(fake_deployment):
    ports = Ports(SETTINGS, Path("data"), fake_deployment.registry(), lambda: NOW)
    async with start_adapters([ports.workspace, ports.queue]):
        assert ports.queue is ports.queue
    assert "open events" not in fake_deployment.diary


async def test_public_operations_answer(fake_deployment):
    service = fake_deployment.compose()
    assert (await get_json(service, "/health")).body == b'{"status":"ok"}'
    ready = await get_json(service, "/ready")
    assert (ready.status, b'"status":"ok"' in ready.body) == (200, True)
    document = await get_json(service, "/openapi.json")
    assert b'"url":"http://127.0.0.1:8080"' in document.body


async def test_further_probes_take_part_in_readiness(fake_deployment):
    async def full():
        return ProbeResult(ok=False)

    ready = await get_json(fake_deployment.compose(probes=[Probe("disk", full)]), "/ready")
    assert (ready.status, b'"disk":"degraded"' in ready.body) == (503, True)


async def test_handler_gets_its_dependencies_by_type(fake_deployment):
    seen = {}

    @operation("GET /own", scope=None, rate_limit=RateLimitClass.NONE, prefix=RoutePrefix.ROOT, tag="own")
    async def own(
        *,
        store: EventStore,
        sums: AggregateReader,
        funnels: Annotated[FunnelReader, "annotated"],
        directory: CredentialStore,
        queue: IngestQueue,
        geo: GeoLocator,
        clock: Clock,
        catalog: Catalog,
        settings: Settings,
    ) -> dict[str, int]:
        """Look at what came."""
        seen.update(locals())
        return {}

    fake_deployment.operations.append(own)
    service = fake_deployment.compose()
    assert (await get_json(service, "/own")).status == 200
    assert seen["store"] is seen["sums"] is seen["funnels"] is service.ports.events
    assert (seen["directory"], seen["queue"]) == (service.ports.workspace, service.ports.queue)
    assert seen["geo"].locate("203.0.113.7") is None
    assert (seen["clock"](), seen["settings"]) == (NOW, SETTINGS)


def test_unprovided_dependency_stops_the_start_and_names_the_operation(fake_deployment):
    class Weather(Protocol):
        def today(self): ...

    @operation("GET /forecast", tag="own")
    async def get_forecast(*, weather: Weather) -> dict[str, int]:
        """Look at the sky."""
        return {}

    fake_deployment.operations.append(get_forecast)
    with pytest.raises(StartupError, match=r"get_forecast \(GET /forecast\) asks for weather: Weather"):
        fake_deployment.compose()


def test_callable_type_other_than_clock_is_not_bound(fake_deployment):
    @operation("GET /odd", tag="own")
    async def odd(*, roll: Callable[[], int]) -> dict[str, int]:
        """Ask for a function of another kind."""
        return {}

    fake_deployment.operations.append(odd)
    with pytest.raises(StartupError, match="odd"):
        fake_deployment.compose()


def test_public_operation_cannot_depend_on_the_caller(fake_deployment):
    @operation("GET /who", scope=None, prefix=RoutePrefix.ROOT, tag="own")
    async def who_am_i(*, caller: Caller) -> dict[str, int]:
        """Ask nobody."""
        return {}

    fake_deployment.operations.append(who_am_i)
    with pytest.raises(StartupError, match="Give it a scope"):
        fake_deployment.compose()


def test_unknown_scheme_stops_the_start(fake_deployment):
    settings = SETTINGS.model_copy(
        update={"rate_limits": SETTINGS.rate_limits.model_copy(update={"store": "redis://h"})}
    )
    with pytest.raises(StartupError, match=r"No adapter for 'limits' serves redis://\. Installed: fake://"):
        compose(settings, Path("data"), registry=fake_deployment.registry())


@pytest.mark.parametrize("port", DECLARED)
def test_port_setting_names_its_adapter(port, tmp_path):
    section, name = DECLARED[port].setting.split(".")
    settings = Settings.model_validate({section: {name: "nowhere://"}})
    with pytest.raises(StartupError, match=f"No adapter for '{port}' serves nowhere://"):
        Ports(
            settings,
            tmp_path,
            collect_plugins_into_registry([], discover_entry_points=False),
            clock=lambda: NOW,
        ).adapter(port)
