"""A bucket as the place of export files, over the wire to a small store of the same protocol."""

import asyncio
import re
import threading
import urllib.request
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from service_core.delivery.exports.ports import SinkDown
from service_core.extension import load
from service_core.kernel.errors import StartupError

KEPT = ("Content-Type", "Content-Disposition", "Cache-Control")


class Bucket(BaseHTTPRequestHandler):
    """Just enough of the protocol: objects, and uploads in parts that show when they are complete."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _read(self):
        self.path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return parse_qs(query, keep_blank_values=True), body

    def do_PUT(self):
        query, body = self._read()
        store = self.server.store
        if store.refuses:
            return self._answer(403)
        if "uploadId" in query:
            store.parts[int(query["partNumber"][0])] = body
        else:
            store.objects[self.path] = (body, self._kept())
        return self._answer(200, headers={"ETag": '"1"'})

    def _kept(self):
        return {name: self.headers[name] for name in KEPT if self.headers[name]}

    def do_POST(self):
        query, sent = self._read()
        store = self.server.store
        if "delete" in query:
            names = re.findall(r"<Key>(.*?)</Key>", sent.decode())
            for name in names:
                store.objects.pop(f"/exports/{name}", None)
            gone = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            return self._answer(200, f"<DeleteResult>{gone}</DeleteResult>".encode())
        if "uploads" in query:
            store.parts, store.attributes = {}, self._kept()
            return self._answer(
                200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
            )
        body = b"".join(part for _, part in sorted(store.parts.items()))
        store.objects[self.path] = (body, store.attributes)
        return self._answer(
            200, b"<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"
        )

    def do_GET(self):
        query, _ = self._read()
        self.server.store.asked.append(query)
        if self.server.store.says:
            status, code = self.server.store.says
            return self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())
        if self.path not in self.server.store.objects:
            return self._answer(404)
        body, kept = self.server.store.objects[self.path]
        dated = {"Last-Modified": "Wed, 08 Jul 2026 15:00:00 GMT", "ETag": '"1"'}
        return self._answer(200, body, kept | dated)

    def do_HEAD(self):
        return self.do_GET()


class Store:
    def __init__(self):
        self.objects, self.parts, self.attributes, self.asked, self.refuses = {}, {}, {}, [], False
        self.says = None


@pytest.fixture
def bucket():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    server.daemon_threads, server.store = True, Store()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.store.url = f"http://127.0.0.1:{server.server_port}"
    yield server.store
    server.shutdown()
    server.server_close()


@pytest.fixture
def sink(bucket, tmp_path):
    endpoint = quote(bucket.url, safe="")
    return load().open("sink", f"s3://key:se%2Fcret@exports/deep/files?endpoint={endpoint}", folder=tmp_path)


def fetched(link):
    with urllib.request.urlopen(link) as answer:
        return answer.read(), answer.headers


async def written(sink, data, fault=None):
    async with sink.draft("a.csv", "events-2026-07-01-2026-07-07.csv") as file:
        file.write(data)
        if fault:
            raise fault


@pytest.mark.parametrize("size", [0, 5, 12_000_000])
async def test_a_file_is_sent_whole_with_its_name_and_read_back(sink, bucket, size):
    data = b"0123456789" * (size // 10) + b"x" * (size % 10)
    await written(sink, data)
    assert list(bucket.objects) == ["/exports/deep/files/a.csv"]
    found, chunks = await sink.read("a.csv")
    assert found == size
    assert b"".join([chunk async for chunk in chunks()]) == data
    _, attributes = bucket.objects["/exports/deep/files/a.csv"]
    assert attributes["Content-Disposition"] == 'attachment; filename="events-2026-07-01-2026-07-07.csv"'
    assert attributes["Content-Type"] == "text/csv; charset=utf-8"


async def test_a_block_that_raises_sends_nothing(sink, bucket):
    with pytest.raises(RuntimeError):
        await written(sink, b"x", RuntimeError())
    assert bucket.objects == {}
    assert await sink.read("a.csv") is None


async def test_a_store_that_refuses_is_a_fault_of_the_write(sink, bucket):
    bucket.refuses = True
    with pytest.raises(Exception, match="403"):
        await written(sink, b"x")


async def test_a_link_is_signed_by_the_store_for_an_hour_and_gives_the_file(sink, bucket):
    await written(sink, b"x,y\r\n")
    link = await sink.url("a.csv", timedelta(hours=1))
    query = parse_qs(urlsplit(link).query)
    assert query["X-Amz-Expires"] == ["3600"]
    assert query["X-Amz-Credential"][0].startswith("key/")
    assert "cret" not in link
    content, headers = await asyncio.to_thread(fetched, link)
    assert content == b"x,y\r\n"
    assert headers["Content-Disposition"].startswith("attachment")


async def test_deleting_twice_is_as_good_as_once(sink, bucket):
    await written(sink, b"x")
    for _ in range(2):
        await sink.delete("a.csv")
        assert bucket.objects == {}


@pytest.mark.parametrize("says", [None, (404, "NoSuchKey"), (403, "AccessDenied")])
async def test_a_look_at_a_bucket_writes_nothing(sink, bucket, says):
    bucket.says = says
    await sink.check()
    assert len(bucket.asked) == 1
    assert bucket.objects == {}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "NoSuchBucket"),
        (403, "SignatureDoesNotMatch"),
        (403, "InvalidAccessKeyId"),
        (400, "AuthorizationHeaderMalformed"),
        (500, "InternalError"),
    ],
)
async def test_a_look_tells_what_the_store_says_is_wrong(sink, bucket, status, code):
    bucket.says = (status, code)
    with pytest.raises(StartupError, match=f"bucket exports of exports.sink cannot be used: {code}") as told:
        await sink.check()
    assert "cret" not in str(told.value).replace("secret in the URL", "")


async def test_a_look_without_credentials_names_where_they_come_from(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    sink = load().open("sink", "s3://exports?endpoint=http://127.0.0.1:1", folder=tmp_path)
    with pytest.raises(StartupError, match="AWS_ACCESS_KEY_ID"):
        await sink.check()


async def test_a_link_without_credentials_is_said(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    sink = load().open("sink", "s3://exports?endpoint=http://127.0.0.1:1", folder=tmp_path)
    with pytest.raises(SinkDown):
        await sink.url("a.csv", timedelta(hours=1))


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3://bucket:9/x", "s3://key@bucket", "s3://bucket?deep=1", "s3://bucket?endpoint=ftp://x"],
)
def test_a_url_that_names_no_bucket_stops_the_start(url, tmp_path):
    with pytest.raises(StartupError):
        load().open("sink", url, folder=tmp_path)
