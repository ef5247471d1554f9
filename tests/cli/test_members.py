"""`touchpoint member`: the first owner comes from the terminal."""

import re
from pathlib import Path

import pytest


def test_new_member_gets_a_password_link_printed_once(touchpoint, deployment):
    config = ("--config", deployment["config"])
    added = touchpoint("member", "add", "Ann@Example.com", "--role", "owner", *config).output
    assert "ann@example.com is owner." in added
    [token] = re.findall(r"/app/password\?token=([A-Za-z0-9_-]{43})", added)
    kept = Path(deployment["config"]).with_name("workspace.db").read_bytes()
    assert token.encode() not in kept
    assert touchpoint("member", "list", *config).output.split() == ["owner", "ann@example.com"]


def test_last_owner_cannot_be_demoted(touchpoint, deployment):
    config = ("--config", deployment["config"])
    touchpoint("member", "add", "ann@example.com", "--role", "owner", *config)
    refused = touchpoint("member", "add", "ann@example.com", "--role", "viewer", *config, code=1)
    assert "at least one owner" in refused.output


def test_invalid_email_is_refused_with_one_sentence(touchpoint, deployment):
    refused = touchpoint("member", "add", "not an address", "--config", deployment["config"], code=1)
    assert "email must be an e-mail address" in refused.output


def test_empty_list_prints_a_hint_to_stderr_only(touchpoint, deployment):
    for command in ("member", "connection", "domain"):
        listed = touchpoint(command, "list", "--config", deployment["config"])
        assert (listed.stdout, f"touchpoint {command} add" in listed.stderr) == ("", True)


def test_role_is_changed_and_member_removed(touchpoint, deployment):
    config = ("--config", deployment["config"])
    for email, role in (("ann@example.com", "owner"), ("ben@example.com", "viewer")):
        touchpoint("member", "add", email, "--role", role, *config)
    assert (
        touchpoint("member", "role", "Ben@example.com", "admin", *config).stdout
        == "ben@example.com is admin.\n"
    )
    assert "admin   ben@example.com" in touchpoint("member", "list", *config).output
    removed = touchpoint("member", "remove", "ben@example.com", *config).stdout
    assert removed == "ben@example.com is no member any more.\n"
    assert touchpoint("member", "list", *config).output.split() == ["owner", "ann@example.com"]


def test_last_owner_keeps_role_and_membership(touchpoint, deployment):
    config = ("--config", deployment["config"])
    touchpoint("member", "add", "ann@example.com", "--role", "owner", *config)
    for command in (("role", "ann@example.com", "viewer"), ("remove", "ann@example.com")):
        assert "at least one owner" in touchpoint("member", *command, *config, code=1).output
    assert touchpoint("member", "list", *config).output.split() == ["owner", "ann@example.com"]


@pytest.mark.parametrize("command", [("role", "eve@example.com", "admin"), ("remove", "eve@example.com")])
def test_unknown_member_is_refused(touchpoint, deployment, command):
    refused = touchpoint("member", *command, "--config", deployment["config"], code=2)
    assert "has no member eve@example.com" in refused.output
