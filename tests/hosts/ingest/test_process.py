"""The ingest process is a small one: it loads what it stands on and nothing else."""

import subprocess
import sys

PROGRAM = """
import sys
import hosts.ingest.__main__
from hosts.composition.compose import load_installed_registry_once
load_installed_registry_once()
print(sorted({name.partition(".")[0] for name in sys.modules} & {"duckdb", "polars", "quart", "pyarrow", "typer"}))
"""


def test_ingest_process_loads_no_engine_no_data_frames_and_no_framework():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
