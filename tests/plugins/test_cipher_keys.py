"""Credentials are sealed with a key of the deployment: without it nothing is read, and nothing is guessed."""

import os
import stat
from base64 import b64encode, urlsafe_b64encode
from uuid import uuid4

import pytest

from plugins import cipher_keys
from service_core.commerce.credentials.ports import CipherUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError

REGISTRY = collect_plugins_into_registry([("cipher_keys", cipher_keys)], discover_entry_points=False)
SECRET, OURS = b'{"token": "geheim"}', b"workspace and provider"


def new_key():
    return b64encode(os.urandom(32)).decode()


def open_cipher(folder, url="keyfile:///connections.key"):
    return REGISTRY.open_adapter("secret_cipher", url, base_folder=folder)


async def test_first_secret_creates_a_key_file_readable_by_its_owner(tmp_path):
    cipher = open_cipher(tmp_path)
    await cipher.start()
    assert not list(tmp_path.iterdir())
    sealed = cipher.encrypt(SECRET, OURS)
    file = tmp_path / "connections.key"
    assert [stat.S_IMODE(file.stat().st_mode), *tmp_path.iterdir()] == [0o600, file]
    assert b"geheim" not in sealed
    assert sealed != cipher.encrypt(SECRET, OURS)
    assert open_cipher(tmp_path).decrypt(sealed, OURS) == SECRET


def test_moved_or_changed_ciphertext_is_rejected(tmp_path):
    cipher = open_cipher(tmp_path)
    sealed = cipher.encrypt(SECRET, OURS)
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for wrong, whose in ((sealed, b"another"), (changed, OURS), (b"\x02" + sealed[1:], OURS), (b"", OURS)):
        with pytest.raises(CipherUnavailable):
            cipher.decrypt(wrong, whose)


def test_new_key_encrypts_and_old_keys_decrypt(tmp_path):
    file, old, new = tmp_path / "connections.key", new_key(), urlsafe_b64encode(os.urandom(32)).decode()
    file.write_text(f"{old}\n")
    cipher = open_cipher(tmp_path)
    before = cipher.encrypt(SECRET, OURS)
    file.write_text(f"{new}\n{old}\n")
    after = cipher.encrypt(SECRET, OURS)
    assert [cipher.decrypt(one, OURS) for one in (before, after)] == [SECRET, SECRET]
    file.write_text(f"{new}\n")
    assert cipher.decrypt(after, OURS) == SECRET
    with pytest.raises(CipherUnavailable) as shut:
        cipher.decrypt(before, OURS)
    assert (shut.value.status, shut.value.body()["code"]) == (503, "data_unverified")
    assert "connect again" in shut.value.reason


def test_missing_key_file_is_reported_and_not_recreated_by_reads(tmp_path):
    cipher = open_cipher(tmp_path)
    sealed = cipher.encrypt(SECRET, OURS)
    (tmp_path / "connections.key").unlink()
    with pytest.raises(CipherUnavailable) as shut:
        cipher.decrypt(sealed, OURS)
    assert "is missing" in shut.value.reason
    assert not (tmp_path / "connections.key").exists()


async def test_keys_can_be_in_an_environment_variable(tmp_path, monkeypatch):
    old, new = new_key(), new_key()
    monkeypatch.setenv("Sealing_Key", old)
    cipher = open_cipher(tmp_path, "keyenv://Sealing_Key")
    await cipher.start()
    sealed = cipher.encrypt(SECRET, OURS)
    monkeypatch.setenv("Sealing_Key", f"{new} {old}")
    assert cipher.decrypt(sealed, OURS) == SECRET


@pytest.mark.parametrize(
    ("url", "written", "told"),
    [
        ("keyfile:///connections.key", "short", "openssl rand -base64 32"),
        ("keyfile:///connections.key", b64encode(b"too short").decode(), "holds no key"),
        ("keyfile:///connections.key", "", "holds no key"),
        ("keymount:///connections.key", None, "is missing"),
        ("keyenv://NOT_SET_ANYWHERE", None, "NOT_SET_ANYWHERE is not set"),
    ],
)
async def test_deployment_without_the_key_it_names_does_not_start(tmp_path, url, written, told):
    if written is not None:
        (tmp_path / "connections.key").write_text(written)
    for request in ("start", "check"):
        with pytest.raises(StartupError, match=told):
            await getattr(open_cipher(tmp_path, url), request)()


def test_url_without_a_source_is_refused(tmp_path):
    for url in ("keyfile://", "keymount://", "keyenv://", f"keyenv://{uuid4().hex}?make=false"):
        with pytest.raises(StartupError):
            open_cipher(tmp_path, url)


def test_unwritable_folder_is_reported(tmp_path):
    with pytest.raises(CipherUnavailable) as shut:
        open_cipher(tmp_path / "gone").encrypt(SECRET, OURS)
    assert "cannot be made" in shut.value.reason
