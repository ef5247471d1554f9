"""Passwords: slow on purpose, few at a time, as slow for nobody."""

import asyncio
from time import process_time

import pytest

from plugins import passwords_argon2
from plugins.passwords_argon2 import adapter
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError

REGISTRY = collect_plugins_into_registry([("argon2", passwords_argon2)], discover_entry_points=False)


@pytest.fixture
def passwords(tmp_path):
    return REGISTRY.open_adapter("passwords", "argon2://?memory_kib=1024&rounds=1", base_folder=tmp_path)


async def test_password_matches_its_hash_and_no_other(passwords):
    hashed = await passwords.hash("correct horse")
    assert hashed.startswith("$argon2id$v=19$m=1024,t=1,p=1$")
    assert "correct horse" not in hashed
    assert await passwords.verify(hashed, "correct horse")
    for password in ("correct hors", "", "correct horse\0", "\ud800"):
        assert not await passwords.verify(hashed, password)
    assert not await passwords.verify("$argon2id$broken", "correct horse")
    assert await passwords.hash("correct horse") != hashed


async def test_unknown_account_takes_as_long_as_a_known_one(tmp_path):
    passwords = REGISTRY.open_adapter("passwords", "argon2://?memory_kib=8192", base_folder=tmp_path)
    hashed = await passwords.hash("correct horse")
    spent = []
    for known in (hashed, None) * 8:
        begun = process_time()
        assert not await passwords.verify(known, "wrong")
        spent.append(process_time() - begun)
    some, none = min(spent[::2]), min(spent[1::2])
    assert abs(some - none) < 0.5 * some


async def test_at_most_two_are_hashed_at_the_same_time(passwords, monkeypatch):
    running, most = 0, 0

    async def counted(call, *arguments):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return call(*arguments)

    monkeypatch.setattr(adapter.asyncio, "to_thread", counted)
    await asyncio.gather(*(passwords.hash("x") for _ in range(10)))
    assert most == 2


def test_invalid_cost_stops_the_start(tmp_path):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("passwords", "argon2://?rounds=0", base_folder=tmp_path)
