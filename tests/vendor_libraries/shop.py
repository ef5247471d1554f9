"""A workspace whose keys the recordings name, and what the API answers about the events of a library."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from service_core.access.api_keys import build_write_or_agent_key
from service_core.access.models import CredentialKind
from service_core.kernel.ids import sha256_hex
from tests.hosts.ingest.protocol_host import ProtocolHost
from tests.vendor_libraries.recordings import load_recording

SITE = "http://shop.example"
CLOCK_TOLERANCE = timedelta(seconds=5)


def public_id_of(name):
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def write_key_of(name):
    return "dk_" + hashlib.md5(name.encode()).hexdigest()


@dataclass(frozen=True)
class Comparison:
    """How the events that the API answers compare with those that a library was told to send."""

    right: int
    differences: tuple[str, ...]


async def open_shop(deployment, library):
    """Returns the host as the workspace of a library uses it."""
    client = await deployment.served.workspace(
        timezone="UTC", currency="EUR", public_id=public_id_of(library.name),
        allowed_origins=(SITE,) if library.is_public else (),
    )  # fmt: skip
    credentials, secret = deployment.ports.workspace.credentials, write_key_of(library.name)
    key = build_write_or_agent_key(client.workspace, CredentialKind.WRITE, deployment.served.now)
    await credentials.save_credential(key.credential, sha256_hex(secret))
    return ProtocolHost(deployment, client, secret)


async def replay(host, recording):
    """Sends the requests of a recording, each at its time; returns the statuses."""
    statuses = []
    for exchange in recording.exchanges:
        host.deployment.served.now = exchange.at
        statuses.append((await host.send(exchange.request, origin=None))[0])
    return statuses


async def replay_and_compare(deployment, library):
    """Sends the recording of a library to a new shop; returns the comparison and the statuses."""
    recording, host = load_recording(library.name), await open_shop(deployment, library)
    statuses = await replay(host, recording)
    return await compare(host, library, recording), statuses


async def compare(host, library, recording):
    """Returns which events of the library the API answers as they were sent, and how it differs."""
    days = [exchange.at.date() for exchange in recording.exchanges]
    span = {"start_date": f"{min(days) - timedelta(days=1)}", "end_date": f"{max(days)}"}
    rows = await _stored_rows(host, span)
    differences, right = [], 0
    for expected in library.events:
        name = expected["event_name"]
        found = [
            ([*_wrong_columns(expected, row), *_wrong_time(expected, row, recording)], row)
            for row in rows
            if row["event_name"] == name
        ]
        if not found:
            differences.append(f"{name}: missing")
            continue
        wrong, row = min(found, key=lambda one: len(one[0]))
        rows.remove(row)
        differences += [f"{name}.{column}: {value!r}" for column, value in wrong]
        right += not wrong
    differences += [f"{row['event_name']}: not sent" for row in rows]
    differences += await _wrong_figures(host, library, span)
    return Comparison(right, tuple(differences))


async def _stored_rows(host, span):
    while await host.deployment.pipeline.process_batch():
        pass
    answer = await host.client.get("/events", **span, limit=500, include_bots="true")
    return sorted(answer["events"], key=lambda row: (row["timestamp"], row["event_id"]))


def _wrong_columns(expected, row):
    for name, value in expected.items():
        if name == "event_data":
            data = row["event_data"]
            yield from (
                (f"event_data.{n}", data.get(n)) for n, v in value.items() if not _holds(data.get(n), v)
            )
        elif name != "is_backdated" and row[name] != value:
            yield name, row[name]


def _holds(stored, expected):
    """Returns whether a value is the expected one; an object may have further fields."""
    if isinstance(expected, dict) and isinstance(stored, dict):
        return all(_holds(stored.get(name), value) for name, value in expected.items())
    return stored == expected


def _wrong_time(expected, row, recording):
    """Yields a time that is not the one of the program's order, or not within its run."""
    stored = recording.order_time.fromisoformat(row["timestamp"])
    earliest = latest = recording.order_time
    if not expected.get("is_backdated"):
        earliest, latest = recording.order_time + timedelta(minutes=50), recording.exchanges[-1].at
    if not earliest - CLOCK_TOLERANCE <= stored <= latest + CLOCK_TOLERANCE:
        yield "timestamp", row["timestamp"]


async def _wrong_figures(host, library, span):
    """Returns how revenue, orders and persons differ from one order by one person."""
    asked = {"metrics": ["revenue", "orders"], **span}
    answer = await host.client.post("/metrics", asked)
    figures = {metric["id"]: metric["value"] for metric in answer["metrics"]}
    figures["people"] = len((await host.client.get("/users", **span))["users"])
    expected = {"revenue": library.revenue, "orders": library.orders, "people": library.people}
    return [f"{name}: {figures[name]!r}" for name, value in expected.items() if figures[name] != value]
