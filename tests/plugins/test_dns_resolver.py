"""Text records over the wire: a name server on the loopback, and one that is not there."""

import asyncio
import socket

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from hosts.composition.compose import load_installed_registry_once
from service_core.kernel.errors import StartupError
from service_core.plugin import DnsUnavailable
from service_core.testing.txt_records import NAME, FakeTxtRecords, TxtRecordsConformance


def open_resolver(url, folder):
    return load_installed_registry_once().open_adapter("dns", url, base_folder=folder)


class StubNameServer(asyncio.DatagramProtocol):
    """Answers queries for TXT records; with a response code, every query is answered by it.

    Attributes:
        queries: the packets received.
    """

    def __init__(self, zone_records, code=None):
        self.zone_records, self.code, self.queries = zone_records, code, []

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.queries.append(data)
        query = dns.message.from_wire(data)
        answer = dns.message.make_response(query, recursion_available=True)
        name = query.question[0].name
        texts = self.zone_records.get(name.to_text(omit_final_dot=True))
        if self.code is not None or texts is None:
            answer.set_rcode(dns.rcode.NXDOMAIN if self.code is None else self.code)
        elif texts:
            answer.answer = [dns.rrset.from_text(name, 60, "IN", "TXT", *map(_quoted, texts))]
        self.transport.sendto(answer.to_wire(), addr)


def _quoted(text):
    return " ".join(f'"{text[at : at + 255]}"' for at in range(0, len(text), 255))


async def serve_dns(zone_records, code=None):
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: StubNameServer(zone_records, code), local_addr=("127.0.0.1", 0)
    )
    return transport


class TestResolver(TxtRecordsConformance):
    @pytest.fixture
    def zone_records(self):
        return {}

    @pytest.fixture
    async def resolver(self, zone_records, tmp_path):
        server = await serve_dns(zone_records)
        host, port = server.get_extra_info("sockname")
        yield open_resolver(f"dns://{host}:{port}?timeout_seconds=30", tmp_path)
        server.close()

    @pytest.fixture
    def unreachable_resolver(self, tmp_path):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            port = silent.getsockname()[1]
            yield open_resolver(f"dns://127.0.0.1:{port}?timeout_seconds=0.2", tmp_path)

    async def test_name_with_records_of_other_types_says_nothing(self, resolver, zone_records):
        zone_records[NAME] = []
        assert list(await resolver.query_txt(NAME)) == []

    @pytest.mark.parametrize("code", [dns.rcode.SERVFAIL, dns.rcode.REFUSED])
    async def test_server_that_refuses_has_not_answered(self, tmp_path, code):
        server = await serve_dns({}, code)
        host, port = server.get_extra_info("sockname")
        with pytest.raises(DnsUnavailable):
            await open_resolver(f"dns://{host}:{port}?timeout_seconds=0.5", tmp_path).query_txt(NAME)
        server.close()


@pytest.mark.parametrize("zone_records", [{}, {"example.com": ["v=spf1 -all"]}])
async def test_health_check_accepts_any_response(tmp_path, zone_records):
    server = await serve_dns(zone_records)
    host, port = server.get_extra_info("sockname")
    await open_resolver(f"dns://{host}:{port}?timeout_seconds=30", tmp_path).check()
    assert len(server.get_protocol().queries) == 1
    server.close()


async def test_health_check_reports_unreachable_name_servers(tmp_path):
    server = await serve_dns({}, dns.rcode.SERVFAIL)
    host, port = server.get_extra_info("sockname")
    with pytest.raises(StartupError, match=f"{host} does not answer"):
        await open_resolver(f"dns://{host}:{port}?timeout_seconds=0.5", tmp_path).check()
    server.close()


class TestWrittenRecords(TxtRecordsConformance):
    @pytest.fixture
    def zone_records(self):
        return {}

    @pytest.fixture
    def resolver(self, zone_records):
        return FakeTxtRecords(zone_records)

    @pytest.fixture
    def unreachable_resolver(self):
        return FakeTxtRecords(down=True)


@pytest.mark.parametrize("url", ["dns://resolver.example", "dns://127.0.0.1?timeout_seconds=0"])
def test_url_that_names_no_server_stops_the_start(tmp_path, url):
    with pytest.raises(StartupError, match="dns"):
        open_resolver(url, tmp_path)


def test_default_resolver_is_that_of_the_machine(tmp_path):
    assert open_resolver("dns://", tmp_path)
