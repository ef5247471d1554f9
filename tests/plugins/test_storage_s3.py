"""A bucket as the place of export files, over the wire to a small store of the same protocol."""

import asyncio
import urllib.request
from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from service_core.delivery.exports.ports import ExportStorageUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError


@pytest.fixture
def storage(bucket, tmp_path):
    endpoint = quote(bucket.url, safe="")
    return collect_plugins_into_registry().open_adapter(
        "export_storage", f"s3://key:se%2Fcret@exports/deep/files?endpoint={endpoint}", base_folder=tmp_path
    )


def fetch_url(link):
    with urllib.request.urlopen(link) as answer:
        return answer.read(), answer.headers


async def write_file(storage, data, fault=None):
    async with storage.open_for_write("a.csv", "events-2026-07-01-2026-07-07.csv") as file:
        file.write(data)
        if fault:
            raise fault


@pytest.mark.parametrize("size", [0, 5, 12_000_000])
async def test_file_is_uploaded_with_its_name_and_read_back(storage, bucket, size):
    data = b"0123456789" * (size // 10) + b"x" * (size % 10)
    await write_file(storage, data)
    assert list(bucket.objects) == ["/exports/deep/files/a.csv"]
    found, chunks = await storage.read("a.csv")
    assert found == size
    assert b"".join([chunk async for chunk in chunks()]) == data
    _, attributes = bucket.objects["/exports/deep/files/a.csv"]
    assert attributes["Content-Disposition"] == 'attachment; filename="events-2026-07-01-2026-07-07.csv"'
    assert attributes["Content-Type"] == "text/csv; charset=utf-8"


async def test_file_of_a_name_without_a_suffix_is_stored_as_bytes(storage, bucket):
    async with storage.open_for_write("import-1", "import-1") as file:
        file.write(b"x")
    _, attributes = bucket.objects["/exports/deep/files/import-1"]
    assert attributes["Content-Type"] == "application/octet-stream"


async def test_block_that_raises_sends_nothing(storage, bucket):
    with pytest.raises(RuntimeError):
        await write_file(storage, b"x", RuntimeError())
    assert bucket.objects == {}
    assert await storage.read("a.csv") is None


async def test_refused_upload_raises(storage, bucket):
    bucket.refuses = True
    with pytest.raises(Exception, match="403"):
        await write_file(storage, b"x")


async def test_signed_link_returns_the_file_for_an_hour(storage, bucket):
    await write_file(storage, b"x,y\r\n")
    link = await storage.signed_url_if_supported("a.csv", timedelta(hours=1))
    query = parse_qs(urlsplit(link).query)
    assert query["X-Amz-Expires"] == ["3600"]
    assert query["X-Amz-Credential"][0].startswith("key/")
    assert "cret" not in link
    content, headers = await asyncio.to_thread(fetch_url, link)
    assert content == b"x,y\r\n"
    assert headers["Content-Disposition"].startswith("attachment")


async def test_deleting_twice_succeeds(storage, bucket):
    await write_file(storage, b"x")
    for _ in range(2):
        await storage.delete("a.csv")
        assert bucket.objects == {}


@pytest.mark.parametrize("says", [None, (404, "NoSuchKey"), (403, "AccessDenied")])
async def test_health_check_writes_nothing(storage, bucket, says):
    bucket.says = says
    await storage.check()
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
async def test_health_check_reports_the_error_of_the_store(storage, bucket, status, code):
    bucket.says = (status, code)
    with pytest.raises(
        StartupError, match=f"bucket exports of exports.storage cannot be used: {code}"
    ) as result:
        await storage.check()
    assert "cret" not in str(result.value).replace("secret in the URL", "")


async def test_health_check_without_credentials_names_their_sources(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    storage = collect_plugins_into_registry().open_adapter(
        "export_storage", "s3://exports?endpoint=http://127.0.0.1:1", base_folder=tmp_path
    )
    with pytest.raises(StartupError, match="AWS_ACCESS_KEY_ID"):
        await storage.check()


async def test_link_without_credentials_is_reported(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    storage = collect_plugins_into_registry().open_adapter(
        "export_storage", "s3://exports?endpoint=http://127.0.0.1:1", base_folder=tmp_path
    )
    with pytest.raises(ExportStorageUnavailable):
        await storage.signed_url_if_supported("a.csv", timedelta(hours=1))


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3://bucket:9/x", "s3://key@bucket", "s3://bucket?deep=1", "s3://bucket?endpoint=ftp://x"],
)
def test_url_that_names_no_bucket_stops_the_start(url, tmp_path):
    with pytest.raises(StartupError):
        collect_plugins_into_registry().open_adapter("export_storage", url, base_folder=tmp_path)
