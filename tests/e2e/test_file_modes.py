"""What a running service writes into its data folder can be read by its own user alone."""

import os
import stat
import subprocess
import sys

from hosts.demo.demo_service import serve_in_subprocess
from tests.e2e.conftest import initialize_deployment, wait_until


def modes_below(folder):
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in folder.rglob("*")
        if path.is_file() or path.is_dir()
    }


def test_data_files_are_0600_and_folders_0700(tmp_path):
    previous = os.umask(0o022)
    try:
        folder = tmp_path / "srv" / "shop"
        deployment = initialize_deployment(folder)
        config = deployment.config
        text = config.read_text().replace("duckdb:///events.duckdb", "duckdb:///data/events.duckdb", 1)
        config.write_text(text)
        (folder / "workspace.db").chmod(0o644)  # as an older version left it
        with serve_in_subprocess(config, "127.0.0.1:0", "127.0.0.1:0") as running:
            deployment.running = running
            assert deployment.track(event="page_view", user_id="u1")[0] == 200
            wait_until(lambda: deployment.get("/ready")[1].get("newest_event_at"))
            modes = modes_below(folder)
    finally:
        os.umask(previous)
    assert {"workspace.db", "spool.db", "data/events.duckdb"} <= modes.keys()
    expected = {name: 0o700 if (folder / name).is_dir() else 0o600 for name in modes}
    assert modes == expected
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}


def test_reference_pages_can_be_read_by_everybody(tmp_path):
    command = [sys.executable, "-m", "hosts.cli", "docs", "--write", "--dir", str(tmp_path / "pages")]
    subprocess.run(command, check=True, capture_output=True)
    assert all(mode & 0o044 == 0o044 for mode in modes_below(tmp_path).values())
