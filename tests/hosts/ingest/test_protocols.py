"""Requests of other products' clients through the served ingest host: limits, repeats and ledger."""

import gzip

import pytest

from service_core.testing.ingest_protocol import RecordedRequest
from tests.hosts.ingest import recorded_matomo
from tests.hosts.ingest.protocol_host import deployment, host
from tests.hosts.ingest.recorded_protocols import SAMPLES_BY_PROTOCOL

__all__ = ["deployment", "host"]
pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST_SAMPLES = [next(iter(samples.values())) for samples in SAMPLES_BY_PROTOCOL.values()]


@pytest.mark.parametrize("protocol", sorted(SAMPLES_BY_PROTOCOL))
async def test_recorded_requests_become_events_and_ledger_rows(host, protocol):
    samples = SAMPLES_BY_PROTOCOL[protocol].values()
    for sample in samples:
        status, _, head = await host.send(sample.build(host.write_key))
        assert status < 400
        assert head["cache-control"] == "no-store"
        assert head["access-control-allow-origin"] == "https://shop.example"
    count = sum(sample.event_count for sample in samples)
    assert len(await host.events()) == count
    totals = await host.ledger_totals(count)
    assert (totals["stored"], totals["rejected"], totals["quarantined"]) == (count, 0, 0)


async def test_compressed_requests_are_read_also_without_saying_so(host):
    for sample in FIRST_SAMPLES:
        recorded = sample.build(host.write_key)
        if not recorded.body:
            continue
        zipped = RecordedRequest(
            recorded.path, gzip.compress(recorded.body), recorded.query, recorded.headers, recorded.method
        )
        before = len(await host.events())
        assert (await host.send(zipped))[0] < 400
        assert (await host.send(zipped, headers={"content-encoding": "gzip"}))[0] < 400
        assert len(await host.events()) > before


async def test_too_large_bodies_are_refused_and_inflating_stops(host):
    for sample in FIRST_SAMPLES:
        recorded = sample.build(host.write_key)
        for body in (b"x" * 5_000_001, gzip.compress(b"x" * 5_000_001)):
            large = RecordedRequest(recorded.path, body, recorded.query, recorded.headers, "POST")
            status, _, _ = await host.send(large)
            assert status in {204, 405, 413}
    assert await host.events() == []


async def test_preflight_of_a_client_allows_its_headers(host):
    for sample in FIRST_SAMPLES:
        parameters = {"access-control-request-headers": "content-type, x-client-version"}
        path = sample.build("x").path
        status, _, head = await host.send(RecordedRequest(path, method="OPTIONS"), headers=parameters)
        assert status == 204
        assert head["access-control-allow-headers"] == "content-type, x-client-version"
        assert head["access-control-allow-origin"] == "https://shop.example"
        assert (await host.send(RecordedRequest(path, method="DELETE")))[0] == 405


async def test_image_requests_are_of_the_site_that_refers_to_them(host):
    await host.save(allowed_origins=("https://shop.example",))
    image = recorded_matomo.image_event(host.public_id)
    for referer, status in [
        ("https://shop.example/a?b=https://other.example", 200),
        ("https://shop.example", 200),
        ("https://other.example/https://shop.example/", 403),
        ("https://shop.example.other.example/", 403),
        ("/a", 403),
    ]:
        assert (await host.send(image, origin=None, headers={"referer": referer}))[0] == status
    assert (await host.send(image, origin=None))[0] == 403
    other = {"referer": "https://shop.example/"}
    assert (await host.send(image, origin="https://other.example", headers=other))[0] == 403
    assert len(await host.events()) == 2
