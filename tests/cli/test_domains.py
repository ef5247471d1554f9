"""``touchpoint domain``: link domains of a workspace at the command line."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hosts.composition.compose import load_ports
from hosts.composition.ports import Ports, start_adapters
from hosts.roles.tasks import build_domain_verification
from service_core.testing.txt_records import FakeTxtRecords

HOST = "go.shop.example"


@pytest.fixture
def records(monkeypatch):
    records = FakeTxtRecords()
    monkeypatch.setattr(Ports, "dns", records)
    return records


@pytest.fixture
def run_domain_command(touchpoint, deployment, records):
    def run(*arguments, code=0):
        environment = {"TOUCHPOINT_LINKS__DOMAIN": "go.example.com"}
        return touchpoint("domain", *arguments, "--config", deployment["config"], code=code, **environment)

    return run


def test_domain_is_added_verified_listed_and_removed(run_domain_command, records, deployment):
    added = run_domain_command("add", "Go.Shop.Example").stdout
    name, text = re.search(r'^(\S+)\. TXT "(\S+)"$', added, re.MULTILINE).groups()
    assert run_domain_command("list").stdout == f'{HOST}  pending   {name}. TXT "{text}"\n'
    records.zone_records[name] = [text]
    verified = run_domain_command("verify", HOST).stdout
    assert re.fullmatch(rf"{HOST}  verified  domain_id [0-9a-f-]{{36}}\n", verified)
    assert run_domain_command("verify", HOST).stdout == run_domain_command("list").stdout == verified
    assert run_domain_command("remove", HOST).stdout == f"Removed {HOST}.\n"
    assert run_domain_command("list").stdout == ""
    with closing(sqlite3.connect(Path(deployment["config"]).parent / "workspace.db")) as store:
        kept = [
            json.loads(entry) for (entry,) in store.execute("SELECT entry FROM audit_log ORDER BY created_at")
        ]
    assert [entry["action"] for entry in kept] == ["create", "update", "delete"]
    assert {(entry["actor"]["type"], entry["actor"]["name"]) for entry in kept} == {
        ("system", "Command line")
    }


def test_missing_dns_record_is_listed_with_its_date(run_domain_command, records, deployment):
    name, text = re.search(
        r'^(\S+)\. TXT "(\S+)"$', run_domain_command("add", HOST).stdout, re.MULTILINE
    ).groups()
    records.zone_records[name] = [text]
    verified = run_domain_command("verify", HOST).stdout
    records.zone_records.clear()
    at = datetime(2026, 7, 8, tzinfo=UTC)
    asyncio.run(run_domain_check(Path(deployment["config"]), at))
    assert run_domain_command("list").stdout == f'{verified}    gone since 2026-07-08: {name}. TXT "{text}"\n'
    records.zone_records[name] = [text]
    assert run_domain_command("verify", HOST).stdout == run_domain_command("list").stdout == verified


async def run_domain_check(config, at):
    ports = load_ports(config)
    async with start_adapters([ports.workspace]):
        await build_domain_verification(ports).recheck_and_notify_all(at)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("add", "https://go.shop.example"), 1, "without https://"),
        (("add", "go.example.com"), 1, "the link domain of the deployment"),
        (("verify", HOST), 2, "no domain go.shop.example"),
        (("remove", HOST), 2, "no domain go.shop.example"),
    ],
)
def test_invalid_domain_commands_print_one_sentence(run_domain_command, arguments, code, said):
    assert said in " ".join(run_domain_command(*arguments, code=code).stderr.split())


def test_missing_proof_and_unavailable_dns_have_different_messages(run_domain_command, records):
    run_domain_command("add", HOST)
    assert (
        f"_touchpoint.{HOST} has no TXT record with the verification value."
        in run_domain_command("verify", HOST, code=1).stderr
    )
    records.down = True
    assert "does not answer" in run_domain_command("verify", HOST, code=1).stderr
