"""Paths named by settings are checked for write access before a store opens them."""

import os

import pytest

from service_core.kernel.errors import StartupError
from service_core.kernel.writable_paths import require_writable_paths_or_parents


@pytest.fixture
def allow_writes_only_at(monkeypatch):
    """Makes one path writable and all others read-only; returns the paths that are checked.

    The user who runs the tests may write everywhere, so `os.access` is replaced.
    """

    def allow(writable_path):
        checked = []

        def access(path, mode):
            assert mode == os.W_OK
            checked.append(path)
            return path == writable_path

        monkeypatch.setattr(os, "access", access)
        return checked

    return allow


def test_writable_file_is_accepted(allow_writes_only_at, tmp_path):
    file = tmp_path / "a.db"
    file.touch()
    allow_writes_only_at(file)
    require_writable_paths_or_parents("storage.workspace", file)


def test_unwritable_file_error_names_the_setting(allow_writes_only_at, tmp_path):
    file = tmp_path / "a.db"
    file.touch()
    allow_writes_only_at(tmp_path)
    with pytest.raises(StartupError, match=rf"^{file} cannot be written .* in storage\.workspace\.$"):
        require_writable_paths_or_parents("storage.workspace", tmp_path, file)


def test_missing_file_is_checked_by_its_nearest_folder(allow_writes_only_at, tmp_path):
    allow_writes_only_at(tmp_path)
    require_writable_paths_or_parents("ingest.queue", tmp_path / "new" / "newer" / "a.db")
    allow_writes_only_at(None)
    with pytest.raises(StartupError, match=f"^{tmp_path} cannot be written"):
        require_writable_paths_or_parents("ingest.queue", tmp_path / "new" / "a.db")
