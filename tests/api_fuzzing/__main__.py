"""Schemathesis over API and ingest host of a running `touchpoint serve`: no 5xx, every answer as documented.

``python -m tests.api_fuzzing [EXAMPLES]``; the default keeps it within a minute.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hosts.cli.init import create_deployment_or_remove_settings_file
from hosts.cli.options import SETTINGS_FILE
from hosts.composition.compose import compose
from hosts.composition.load_settings import load_settings_with_environment
from hosts.demo.demo_service import serve_in_subprocess
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.clock import system_clock
from service_core.kernel.operations import Scope

EXAMPLES = 20
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
"""Left out are the checks that a schema alone decides what is refused: dates, ids and plans have
rules beyond their shape (400), and the contract lets numbers that do not parse take their default."""


def main() -> int:
    """Start a service on a new folder, point schemathesis at its hosts, and return the first exit code that is not 0."""
    examples = sys.argv[1] if len(sys.argv) > 1 else str(EXAMPLES)
    with tempfile.TemporaryDirectory(prefix="touchpoint-api-") as made:
        folder = Path(made)
        file = folder / SETTINGS_FILE
        created = create_deployment_or_remove_settings_file(
            file, name="Fuzz", timezone="Australia/Lord_Howe", currency="JPY", domain=None
        )
        key, write_key = asyncio.run(_unlimited_key(file)), created.write_key.secret
        with serve_in_subprocess(file, "127.0.0.1:0", "127.0.0.1:0") as service:
            document = f"{service.api}/openapi.json"
            api = _run_schemathesis(
                document, service.api, f"Authorization: Bearer {key}", examples,
                "--exclude-tag", "ingest", "--exclude-tag", "link host",
            )  # fmt: skip
            ingest = _run_schemathesis(
                document, service.ingest, f"X-API-Key: {write_key}", examples, "--include-tag", "ingest"
            )
        return api or ingest


def _run_schemathesis(document: str, url: str, header: str, examples: str, *selection: str) -> int:
    """Fuzz the selected operations at a host, and return the exit code."""
    return subprocess.run(
        [
            "schemathesis", "run", document,
            "--url", url,
            "--header", header,
            "--max-examples", examples,
            "--phases", "examples,coverage,fuzzing",
            "--checks", CHECKS,
            "--seed", os.environ.get("SCHEMATHESIS_SEED", "20260701"),
            "--no-color",
            *selection,
        ],
        check=False,
    ).returncode  # fmt: skip


async def _unlimited_key(file: Path) -> str:
    """A key with every scope whose budget no test run can use up."""
    async with compose(load_settings_with_environment(file), file.parent) as service:
        (workspace,) = await service.ports.workspace.credentials.list_workspaces()
        minted = await create_named_key_clamping_rate_limit_to_plan(
            service.ports.workspace.credentials,
            workspace,
            system_clock(),
            name="fuzz",
            scopes=frozenset(Scope),
            requested_rate_limit=10**9,
        )
        return minted.secret


if __name__ == "__main__":
    sys.exit(main())
