"""Folders and files that hold data belong to the user of the service alone, whatever the umask of the process."""

import os
import stat

import pytest

from service_core.kernel.private_files import create_private_file, create_private_folder


@pytest.fixture(params=[0o022, 0o000])
def umask(request):
    """A process whose own new files everybody can read."""
    previous = os.umask(request.param)
    yield
    os.umask(previous)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_missing_folders_are_0700_and_existing_ones_keep_their_mode(tmp_path, umask):
    known = tmp_path / "known"
    known.mkdir()
    known.chmod(0o755)
    create_private_folder(known / "a" / "b")
    create_private_folder(known / "a" / "b")
    assert (mode(known), mode(known / "a"), mode(known / "a" / "b")) == (0o755, 0o700, 0o700)


def test_new_file_is_0600_in_a_folder_of_0700(tmp_path, umask):
    file = tmp_path / "data" / "events.db"
    create_private_file(file)
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)


def test_existing_file_keeps_its_content_and_loses_the_access_of_others(tmp_path, umask):
    file, log = tmp_path / "events.db", tmp_path / "events.db-wal"
    for each in (file, log):
        each.write_bytes(b"x")
        each.chmod(0o644)
    create_private_file(file)
    assert (file.read_bytes(), log.read_bytes()) == (b"x", b"x")
    assert (mode(file), mode(log)) == (0o600, 0o600)
