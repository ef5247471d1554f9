"""`touchpoint connection`: what is connected, noted from the terminal."""

import asyncio
import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hosts.cli.secrets import open_workspace_store_and_cipher


def test_connection_is_added_listed_and_removed(touchpoint, deployment):
    config = ("--config", deployment["config"])
    meta = ("connection", "add", "meta", "--account", "act_1=Main", "--asset", "act_1/1234=Shop pixel")
    assert touchpoint(*meta, *config).stdout.split() == ["meta", "connected", "act_1/1234"]
    touchpoint("connection", "add", "stripe", "--account", "acct_1", *config)
    broken = ("--status", "expired", "--error", "token expired")
    touchpoint("connection", "add", "stripe", "--account", "acct_1", *broken, *config)
    assert touchpoint("connection", "list", *config).output.splitlines() == [
        "meta connected act_1/1234",
        "stripe expired acct_1 token expired",
    ]
    touchpoint("connection", "remove", "meta", *config)
    assert touchpoint("connection", "list", *config).output.split()[0] == "stripe"


def test_invalid_connection_is_refused_with_one_sentence(touchpoint, deployment):
    config = ("--config", deployment["config"])
    unknown = touchpoint("connection", "add", "myads", *config, code=2)
    assert "say what myads is for" in unknown.output
    assert touchpoint("connection", "add", "myads", "--kind", "ads", *config).output.startswith("myads")
    assert (
        "act_1/1234=Shop"
        in touchpoint("connection", "add", "meta", "--asset", "1234", *config, code=2).output
    )
    assert "meta is not connected" in touchpoint("connection", "remove", "meta", *config, code=2).output


def read_connection_secret(deployment, provider):
    """What the deployment's own store and key say, and what its store keeps."""

    async def read():
        async with open_workspace_store_and_cipher(Path(deployment["config"])) as ports:
            (owner,) = await ports.workspace.credentials.list_workspaces()
            opened = await ports.connection_secrets.find_secrets(owner.id, provider)
            return (
                opened,
                await ports.workspace.encrypted_secrets.encrypted_secrets(owner.id, provider),
            )

    return asyncio.run(read())


def test_credentials_are_read_from_the_environment_or_stdin_and_never_printed(touchpoint, deployment):
    config = ("--config", deployment["config"])
    named = ("--secret", "app_id=APP", "--secret", "access_token", "--secret", "secret")
    added = touchpoint("connection", "add", "tiktok", *named, *config, typed="EAAB\nhush\n", APP="77")
    assert added.stdout.split() == ["tiktok", "pending"]
    opened, sealed = read_connection_secret(deployment, "tiktok")
    assert opened == {"app_id": "77", "access_token": "EAAB", "secret": "hush"}
    assert b"hush" not in sealed
    touchpoint("connection", "add", "tiktok", "--status", "connected", *config)
    assert read_connection_secret(deployment, "tiktok")[0] == opened
    shown = touchpoint("connection", "list", *config).output
    assert not any(value in shown for value in ("EAAB", "hush"))


def test_connecting_a_revenue_provider_prints_its_webhook_url(touchpoint, deployment):
    config = ("--config", deployment["config"])
    add = ("connection", "add", "revenuecat", "--secret", "webhook_secret")
    added = touchpoint(*add, *config, typed="Bearer hush\n").output
    assert f"/webhooks/revenuecat/{deployment['workspace_id']} of the ingest host" in added
    assert "hush" not in added


def test_renewing_credentials_keeps_the_other_fields(touchpoint, deployment):
    config = ("--config", deployment["config"])
    token = ("--secret", "access_token")
    assert (
        "meta is not connected"
        in touchpoint("connection", "renew", "meta", *token, *config, typed="new\n", code=2).output
    )
    expired = ("--status", "expired", "--error", "token expired", "--asset", "act_1/1234=Pixel")
    touchpoint("connection", "add", "meta", *expired, *token, *config, typed="old\n")
    assert "name what is replaced" in touchpoint("connection", "renew", "meta", *config, code=2).output
    renewed = touchpoint("connection", "renew", "meta", *token, *config, typed="new\n")
    assert renewed.stdout.split() == ["meta", "pending", "act_1/1234"]
    assert read_connection_secret(deployment, "meta")[0] == {"access_token": "new"}


def test_send_only_platform_is_connected_without_a_sync(touchpoint, deployment):
    config = ("--config", deployment["config"])
    key = ("--secret", "api_key")
    add = ("connection", "add", "openai", *key, "--asset", "adacct_1/pixel_1=Shop")
    added = touchpoint(*add, *config, typed="sk-1\n").stdout.split()
    assert added == ["openai", "connected", "adacct_1/pixel_1"]
    assert touchpoint("connection", "renew", "openai", *key, *config, typed="sk-2\n").stdout.split() == added
    assert read_connection_secret(deployment, "openai")[0] == {"api_key": "sk-2"}


def test_credential_as_argument_is_refused_and_not_printed(touchpoint, deployment):
    config = ("--config", deployment["config"])
    typed = touchpoint("connection", "add", "meta", "--secret", "access_token=EAABhush", *config, code=2)
    assert "access_token has no value" in " ".join(typed.output.split())
    assert "EAABhush" not in typed.output
    nothing = touchpoint("connection", "add", "meta", "--secret", "access_token", *config, typed="", code=2)
    assert "standard input has no line" in " ".join(nothing.output.split())
    assert read_connection_secret(deployment, "meta") == (None, None)


def test_new_encryption_key_is_used_and_a_missing_one_is_reported(touchpoint, deployment):
    config = ("--config", deployment["config"])
    touchpoint("connection", "add", "meta", "--secret", "access_token", *config, typed="EAAB\n")
    file = Path(deployment["config"]).parent / "connections.key"
    new = b64encode(b"k" * 32).decode()
    file.write_text(f"{new}\n{file.read_text()}")
    assert touchpoint("connection", "reseal", *config).stdout == "Encrypted again: 1\n"
    file.write_text(f"{new}\n")
    assert read_connection_secret(deployment, "meta")[0] == {"access_token": "EAAB"}
    file.write_text(b64encode(b"x" * 32).decode())
    assert (
        "No key of connections.encryption_key opens it"
        in touchpoint("connection", "reseal", *config, code=2).output
    )


def test_misspelt_secret_is_refused_before_its_value_is_read(touchpoint, deployment):
    config = "--config", deployment["config"]
    refused = touchpoint("connection", "add", "meta", "--secret", "acces_token", *config, code=2)
    assert "Did you mean access_token?" in " ".join(refused.stderr.split())
    assert "meta" not in touchpoint("connection", "list", *config).stdout


class RefusingPlatform(BaseHTTPRequestHandler):
    """Answers as the Graph API does to a token that is over."""

    def do_GET(self):
        self.send_response(400)
        self.end_headers()
        self.wfile.write(b'{"error": {"code": 190, "message": "The token EAABhush has expired."}}')

    def log_message(self, *_):
        """Logs nothing."""


@pytest.fixture
def refusing_platform():
    with ThreadingHTTPServer(("127.0.0.1", 0), RefusingPlatform) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_connection_test_tells_that_the_provider_refuses_the_credentials(
    touchpoint, deployment, refusing_platform
):
    config = ("--config", deployment["config"])
    touchpoint("connection", "add", "meta", "--secret", "access_token", *config, typed="EAABhush\n")
    urls = {"TOUCHPOINT_ADS__API_URLS": json.dumps({"meta": refusing_platform})}
    refused = touchpoint("connection", "test", "meta", *config, code=1, **urls)
    assert "has expired" in refused.stderr
    assert "EAABhush" not in refused.output
    result = json.loads(touchpoint("connection", "test", "meta", "--json", *config, code=1, **urls).stdout)
    assert (result["ok"], result["accounts"]) == (False, [])


def test_connection_test_of_a_provider_that_cannot_be_asked_or_is_not_connected(touchpoint, deployment):
    config = ("--config", deployment["config"])
    touchpoint("connection", "add", "stripe", "--secret", "webhook_secret", *config, typed="whsec_1\n")
    assert "cannot be asked" in touchpoint("connection", "test", "stripe", *config).stdout
    assert "not connected" in touchpoint("connection", "test", "meta", *config, code=2).output


def test_connections_of_the_command_line_are_in_the_audit(touchpoint, deployment, monkeypatch):
    config = "--config", deployment["config"]
    monkeypatch.setenv("PLANTED", "planted-credential-of-the-command-line")
    for command in ("add", "renew"):
        touchpoint("connection", command, "meta", "--secret", "access_token=PLANTED", *config)
    touchpoint("connection", "remove", "meta", *config)
    with closing(sqlite3.connect(Path(deployment["config"]).parent / "workspace.db")) as database:
        entries = [
            json.loads(row[0])
            for row in database.execute("SELECT entry FROM audit_log ORDER BY created_at, id")
        ]
    assert [entry["action"] for entry in entries] == ["create", "update", "delete"]
    assert {entry["actor"]["type"] for entry in entries} == {"system"}
    assert "planted-credential" not in json.dumps(entries)
