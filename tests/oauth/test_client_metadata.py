"""Clients that publish their metadata: which addresses and documents are accepted, and how documents are fetched."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hosts.composition.client_metadata_fetcher import (
    FETCH_SECONDS,
    MAX_DOCUMENT_BYTES,
    HttpsClientMetadataFetcher,
)
from hosts.composition.public_https import PublicHttpsClient, is_public_address
from service_core.access.oauth.client_metadata import (
    ERROR_CACHE_LIFETIME,
    MAX_CACHE_LIFETIME,
    MIN_CACHE_LIFETIME,
    ClientMetadataDocuments,
    is_client_metadata_url,
)
from service_core.access.oauth.models import OAuthError
from service_core.access.oauth.ports import ClientMetadataUnavailable, FetchedDocument
from tests.fixtures.port_stubs import ManualClock
from tests.oauth.oauth_client import READ, REDIRECT, OAuthClientDriver

CLIENT_ID = "https://app.example/oauth/client.json"


def write_document(client_id=CLIENT_ID, **changed):
    document = {"client_id": client_id, "client_name": "Helper", "redirect_uris": [REDIRECT]} | changed
    return json.dumps({name: value for name, value in document.items() if value is not None}).encode()


class StubFetcher:
    def __init__(self, body=None, max_age=timedelta()):
        self.body, self.max_age, self.fetched = write_document() if body is None else body, max_age, []

    async def fetch_document(self, url):
        self.fetched.append(url)
        if isinstance(self.body, Exception):
            raise self.body
        return FetchedDocument(self.body, self.max_age)


async def find_client(body, client_id=CLIENT_ID):
    return await ClientMetadataDocuments(StubFetcher(body), ManualClock()).find_client(client_id)


@pytest.mark.parametrize(
    ("client_id", "accepted"),
    [
        (CLIENT_ID, True),
        ("https://app.example:8443/client", True),
        ("https://app.example/client?v=1", True),
        ("http://app.example/client", False),
        ("http://127.0.0.1/client", False),
        ("https://app.example", False),
        ("https://app.example/", False),
        ("https://app.example/a/../client", False),
        ("https://app.example/./client", False),
        ("https://app.example/client#x", False),
        ("https://user@app.example/client", False),
        ("https://app.example/cl ient", False),
        ("https://app.example/" + "a" * 2000, False),
        ("app.example:/client", False),
    ],
)
def test_client_id_is_an_https_address_with_a_path(client_id, accepted):
    assert is_client_metadata_url(client_id) is accepted


async def test_document_names_the_client_and_its_redirect_uris():
    client = await find_client(write_document(client_name="Help\u202eer\n"))
    assert (client.id, client.name, client.redirect_uris) == (CLIENT_ID, "Helper", (REDIRECT,))
    assert (await find_client(write_document(client_name=None))).name == "app.example"


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        write_document("https://app.example/oauth/client.json/"),
        write_document("HTTPS://app.example/oauth/client.json"),
        write_document(redirect_uris=None),
        write_document(redirect_uris=[]),
        write_document(redirect_uris=["http://app.example/callback"]),
        write_document(redirect_uris=["javascript:alert(1)"]),
        write_document(client_secret="s"),
        write_document(token_endpoint_auth_method="client_secret_basic"),
        write_document(token_endpoint_auth_method="private_key_jwt"),
        ClientMetadataUnavailable("its host cannot be reached"),
    ],
    ids=range(12),
)
async def test_other_documents_are_refused(body):
    with pytest.raises(OAuthError) as refused:
        await find_client(body)
    assert refused.value.error == "invalid_client"


@pytest.mark.parametrize(
    ("max_age", "lifetime"),
    [
        (timedelta(), MIN_CACHE_LIFETIME),
        (timedelta(hours=1), timedelta(hours=1)),
        (timedelta(days=400), MAX_CACHE_LIFETIME),
    ],
)
async def test_documents_are_cached_as_long_as_they_allow_within_limits(max_age, lifetime):
    clock, fetcher = ManualClock(), StubFetcher(max_age=max_age)
    documents = ClientMetadataDocuments(fetcher, clock)
    await asyncio.gather(*(documents.find_client(CLIENT_ID) for _ in range(3)))
    clock.advance(seconds=lifetime.total_seconds() - 1)
    await documents.find_client(CLIENT_ID)
    assert len(fetcher.fetched) == 1
    clock.advance(seconds=1)
    await documents.find_client(CLIENT_ID)
    assert len(fetcher.fetched) == 2


async def test_failures_are_cached_for_a_minute():
    clock, fetcher = ManualClock(), StubFetcher(b"")
    documents = ClientMetadataDocuments(fetcher, clock)
    for _ in range(2):
        with pytest.raises(OAuthError):
            await documents.find_client(CLIENT_ID)
    assert len(fetcher.fetched) == 1
    fetcher.body = write_document()
    clock.advance(seconds=ERROR_CACHE_LIFETIME.total_seconds())
    assert (await documents.find_client(CLIENT_ID)).id == CLIENT_ID


@pytest.fixture
def published(deployment, monkeypatch):
    """A program whose document the deployment can fetch."""
    fetcher = StubFetcher()

    async def fetch_document(self, url):
        return await fetcher.fetch_document(url)

    monkeypatch.setattr(HttpsClientMetadataFetcher, "fetch_document", fetch_document)
    client = OAuthClientDriver(deployment, CLIENT_ID)
    client.fetcher = fetcher
    return client


async def test_published_client_gets_tokens_without_registration(deployment, published):
    ann = await deployment.signed_in("ann", "owner")
    tokens = await published.tokens(ann)
    assert tokens["scope"] == READ
    assert await published.works(tokens["access_token"])
    assert (await published.refresh(tokens["refresh_token"], client_id="https://app.example/other"))[0] == 400
    assert published.fetcher.fetched == [CLIENT_ID]


async def test_consent_names_the_host_that_published_the_client(deployment, published):
    ann = await deployment.signed_in("ann", "owner")
    _, location = await published.authorize()
    page = await ann.get("/app" + location.split("/app", 1)[1])
    assert "Published by app.example" in " ".join(page.text.split())


async def test_redirect_uri_must_stand_in_the_document(published):
    assert await published.authorize(redirect_uri="https://evil.example/callback") == (400, None)


async def test_authorization_server_metadata_announces_published_clients(deployment):
    response = await deployment.app.test_client().get("/.well-known/oauth-authorization-server")
    assert (await response.get_json())["client_id_metadata_document_supported"] is True


async def test_deployment_refuses_documents_on_private_addresses(deployment):
    for host in ("localhost", "127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254"):
        client = OAuthClientDriver(deployment, f"https://{host}/client.json")
        assert await client.authorize() == (400, None)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses(address, public):
    assert is_public_address(address) is public


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost with its key, as a file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(pem + signed.public_bytes(serialization.Encoding.PEM))
    return file


@asynccontextmanager
async def serve_answer(certificate, *parts, pause=0.0):
    """Yields the address of a server that sends these bytes to every request, and the requests it received."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    received = []

    async def answer(reader, writer):
        received.append(await reader.readuntil(b"\r\n\r\n"))
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/client.json?v=1", received


def make_fetcher(certificate, timeout_seconds=FETCH_SECONDS):
    trusted = ssl.create_default_context(cafile=certificate)
    https = PublicHttpsClient(timeout_seconds, allow_private_addresses=True, ssl_context=trusted)
    return HttpsClientMetadataFetcher(https)


def http_answer(body=b"{}", status="200 OK", **headers):
    fields = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body


async def test_document_is_fetched_over_https(certificate):
    async with serve_answer(certificate, http_answer(b'{"a":1}', Cache_Control="max-age=60")) as (
        url,
        received,
    ):
        document = await make_fetcher(certificate).fetch_document(url)
    assert document == FetchedDocument(b'{"a":1}', timedelta(seconds=60))
    assert received[0].startswith(b"GET /client.json?v=1 HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_chunked_document_is_read(certificate):
    chunked = http_answer(b"2\r\n{}\r\n0\r\n\r\n", Transfer_Encoding="chunked")
    async with serve_answer(certificate, chunked) as (url, _):
        assert (await make_fetcher(certificate).fetch_document(url)).body == b"{}"


@pytest.mark.parametrize(
    "answer",
    [
        http_answer(status="302 Found", Location="https://127.0.0.1/"),
        http_answer(status="404 Not Found"),
        http_answer(Content_Type="text/html"),
        http_answer(b" " * (MAX_DOCUMENT_BYTES + 1)),
        http_answer(b"{}", Content_Length="3"),
        b"SSH-2.0\r\n",
        b"",
    ],
    ids=["redirect", "missing", "html", "large", "short", "no-http", "empty"],
)
async def test_other_answers_are_refused(certificate, answer):
    async with serve_answer(certificate, answer) as (url, _):
        with pytest.raises(ClientMetadataUnavailable):
            await make_fetcher(certificate).fetch_document(url)


async def test_slow_answer_is_given_up_as_a_whole(certificate):
    async with serve_answer(certificate, *[b"H"] * 50, pause=0.05) as (url, _):
        with pytest.raises(ClientMetadataUnavailable, match="too long"):
            await make_fetcher(certificate, 0.3).fetch_document(url)


async def test_loopback_address_is_refused_without_a_connection(certificate):
    async with serve_answer(certificate, http_answer()) as (url, received):
        for address in (url, url.replace("127.0.0.1", "localhost")):
            with pytest.raises(ClientMetadataUnavailable, match="no public address"):
                await HttpsClientMetadataFetcher().fetch_document(address)
    assert received == []


async def test_untrusted_certificate_is_refused(certificate):
    https = PublicHttpsClient(FETCH_SECONDS, allow_private_addresses=True)
    async with serve_answer(certificate, http_answer()) as (url, _):
        with pytest.raises(ClientMetadataUnavailable):
            await HttpsClientMetadataFetcher(https).fetch_document(url)
