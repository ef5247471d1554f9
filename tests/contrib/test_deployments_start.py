"""The three sizes of `contrib/deploy` are started from their files, without containers: ready, and ended by SIGTERM."""

import asyncio
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

import pytest

from hosts.composition.ports import start_adapters
from hosts.roles.models import Role
from service_core.access.api_keys import create_workspace_with_keys
from service_core.extensions.registry import collect_plugins_into_registry
from tests.contrib.deployment_files import DEPLOY, ENTRYPOINT, SECRETS, compose_services, systemd_service

pytestmark = [pytest.mark.faults, pytest.mark.timeout(450)]

FEW = {"WORKERS": "2", "EXPORT_WORKERS": "1"}
"""As few processes as run in the way of many."""
ADDRESSES = dict.fromkeys(
    ("TOUCHPOINT_HTTP__API", "TOUCHPOINT_HTTP__INGEST", "TOUCHPOINT_MONITORING__LISTEN"), "127.0.0.1:0"
)
READY_WITHIN_SECONDS = 120
SERVED = {"api", "ingest", "consumer", "scheduler"}


class LocalMachine:
    """Where the commands run: the places and addresses the files name, on this machine.

    Args:
        folder: of this deployment.
        stores: what the settings that name a server name here.
    """

    def __init__(self, folder, stores):
        self.folder, self.stores = folder, stores
        self.places = {
            ENTRYPOINT: f"{sys.executable} -m hosts.cli",
            "/var/lib/touchpoint-backups": str(folder / "backups"),
            "/var/lib/touchpoint": str(folder),
            "/etc/touchpoint": str(folder),
            "/data": str(folder),
        }
        (folder / "backups").mkdir()
        (folder / "touchpoint.toml").touch()  # as the image does; of a new deployment, `touchpoint init`

    def here(self, text):
        for there, place in self.places.items():
            text = text.replace(there, place)
        return text

    def settings(self, service):
        given = {name: self.here(value) for name, value in service.environment.items()}
        return given | {name: url for name, url in self.stores.items() if name in given} | ADDRESSES

    async def run(self, service, out):
        """A process with the command and the settings of a service, and nothing else of Touchpoint."""
        words = [self.here(word) for word in service.words]
        if service.words[0] == ENTRYPOINT:
            words = [*words[0].split(), *words[1:]]
        own = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHPOINT_")}
        return await asyncio.create_subprocess_exec(*words, env=own | self.settings(service), stdout=out)

    @asynccontextmanager
    async def started(self, service):
        """Runs in the block; yields what it says, and ends by SIGTERM."""
        result = self.folder / f"{service.name}.out"
        with result.open("wb") as out:
            process = await self.run(service, out)
        try:
            yield result
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(READY_WITHIN_SECONDS):
                assert await process.wait() == 0, service.name
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def initialized_deployment(self):
        """A workspace with its keys, made as by the command line, from elsewhere."""
        url = self.stores["TOUCHPOINT_STORAGE__WORKSPACE"]
        store = collect_plugins_into_registry().open_adapter("workspace", url, base_folder=self.folder)
        async with start_adapters([store]):
            return await create_workspace_with_keys(store.credentials, datetime.now(UTC), name="Shop")


async def send_request(url, headers, body=None):
    """The answer, as JSON."""
    return json.loads(await asyncio.to_thread(_fetch_json, url, headers, body and json.dumps(body).encode()))


def _fetch_json(url, headers, body=None):
    with urllib.request.urlopen(
        urllib.request.Request(url, body, headers), timeout=READY_WITHIN_SECONDS
    ) as answer:
        return answer.read()


async def run_export(api, headers):
    """The text of a file of all events, once the one event is there."""
    today = datetime.now(UTC).date()
    days = {"start_date": str(today - timedelta(days=1)), "end_date": str(today + timedelta(days=1))}
    async with asyncio.timeout(READY_WITHIN_SECONDS):
        while not (await send_request(f"{api}/events?{urlencode(days)}", headers))["events"]:
            await asyncio.sleep(1)  # a key has 100 requests a minute
        job = await send_request(f"{api}/exports", headers, {"type": "events", **days})
        while job["status"] not in {"completed", "failed"}:
            await asyncio.sleep(1)
            job = await send_request(f"{api}/exports/{job['id']}", headers)
    assert job["row_count"] == 1, job
    return (await asyncio.to_thread(_fetch_json, job["download"]["url"], {})).decode()


def read_output_pairs_of(said):
    """What a service has said: name -> address."""
    return dict(line.split(" ", 1) for line in said.read_text().splitlines())


async def wait_until_ready(said, roles):
    """The roles a service says are ready, where it says that it answers, once they are these or time is up."""
    deadline, found = time.monotonic() + READY_WITHIN_SECONDS, set()
    while found != roles and time.monotonic() < deadline:
        answer = await asyncio.to_thread(_probe_ready, read_output_pairs_of(said).get("metrics"))
        found = set(answer["roles"]) if answer and answer["status"] == "ok" else set()
        await asyncio.sleep(0.1)
    return found


def _probe_ready(address):
    if address is None:
        return None
    try:
        with urllib.request.urlopen(f"{address}/ready", timeout=READY_WITHIN_SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as unready:
        with unready:
            return None


@pytest.fixture
def embedded_machine(tmp_path):
    return LocalMachine(tmp_path, {})


@pytest.fixture
def server_machine(tmp_path, postgres_url, redis_server):
    redis = dict.fromkeys(
        ("TOUCHPOINT_INGEST__QUEUE", "TOUCHPOINT_RATE_LIMITS__STORE", "TOUCHPOINT_EXPORTS__QUEUE"),
        redis_server.url,
    )
    databases = {
        "TOUCHPOINT_STORAGE__WORKSPACE": postgres_url,
        "TOUCHPOINT_STORAGE__EVENTS": f"{postgres_url}?schema=events",
    }
    storage = {"TOUCHPOINT_EXPORTS__STORAGE": f"local:///{tmp_path}/exports"}
    return LocalMachine(tmp_path, databases | redis | storage)


async def test_single_process_deployment_starts_and_is_backed_up(embedded_machine):
    folder = DEPLOY / "one-process"
    async with embedded_machine.started(systemd_service(folder / "touchpoint.service", {})) as result:
        assert await wait_until_ready(result, {"all", "ingest"}) == {"all", "ingest"}
        copying = await embedded_machine.run(systemd_service(folder / "touchpoint-backup.service", {}), None)
        assert await copying.wait() == 0
    assert [path.suffixes for path in (embedded_machine.folder / "backups").iterdir()] == [[".tar", ".gz"]]


async def test_multi_process_deployment_starts_every_role(server_machine):
    services = compose_services(DEPLOY / "several-processes" / "compose.yaml", SECRETS | FEW)
    async with AsyncExitStack() as running:
        values = {
            each.name: await running.enter_async_context(server_machine.started(each)) for each in services
        }
        assert await wait_until_ready(values["touchpoint"], SERVED) == SERVED
        assert await wait_until_ready(values["worker"], {"worker"}) == {"worker"}


async def test_multi_machine_units_start_and_process_an_event(server_machine, bucket):
    """From the ingest host to a file in a bucket."""
    endpoint = quote(bucket.url, safe="")
    server_machine.stores["TOUCHPOINT_EXPORTS__STORAGE"] = f"s3://key:secret@exports?endpoint={endpoint}"
    file = DEPLOY / "many-machines" / "touchpoint@.service"
    async with AsyncExitStack() as running:
        values = {
            role: await running.enter_async_context(
                server_machine.started(systemd_service(file, SECRETS, role))
            )
            for role in Role
        }
        for role in Role:
            assert await wait_until_ready(values[role], {role}) == {role}
        initialized_deployment = await server_machine.initialized_deployment()
        api, ingest = (read_output_pairs_of(values[role])[role] for role in ("api", "ingest"))
        event = {"event": "purchase", "event_id": "order-1", "user_id": "ada"}
        await send_request(f"{ingest}/track", {"X-API-Key": initialized_deployment.write_key.secret}, event)
        content = await run_export(
            f"{api}/v1", {"Authorization": f"Bearer {initialized_deployment.agent_key.secret}"}
        )
    assert content.count("order-1") == 1
    assert [body.decode() for body, _ in bucket.objects.values()] == [content]


def normalised_command(words):
    """A command without what differs between machines: places, and how many processes there are."""
    skipped = {"--config", "--workers", "--server"}
    kept = [word for before, word in zip(("", *words), words, strict=False) if before not in skipped]
    return tuple(word for word in kept if word not in skipped and not word.startswith("/"))


@pytest.mark.parametrize("size", ["one-process", "several-processes", "many-machines"])
def test_compose_files_and_units_run_the_same_commands(size):
    services = [
        normalised_command(each.words) for each in compose_services(DEPLOY / size / "compose.yaml", SECRETS)
    ]
    files = {file: Role if "@" in file.name else [""] for file in (DEPLOY / size).glob("*.service")}
    units = [
        systemd_service(file, {}, instance).words
        for file, instances in files.items()
        for instance in instances
    ]
    assert sorted(services) == sorted(normalised_command(words) for words in units if words[0] == ENTRYPOINT)
