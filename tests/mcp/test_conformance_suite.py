"""The published conformance suite of MCP against the server, on a real socket.

The suite calls diagnostic tools, prompts and resources (``test_simple_text`` and the like), which the test registers as
features. Every scenario has to pass, also those the suite runs without scoring them, but for those that its own
requirements mark as extensions, which it calls optional by definition; the server declares none of them.
"""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_api_app
from hosts.mcp.app import create_mcp_blueprint
from hosts.mcp.server import CAPABILITIES
from service_core.kernel.operations import Scope
from tests.hosts.http.conftest import run_server
from tests.mcp.diagnostic_features import DIAGNOSTIC_FEATURES
from tests.mcp.mcp_client import grant_access_token

PINNED = Path(__file__).parent / "conformance"
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REQUIREMENTS = "node_modules/@modelcontextprotocol/conformance/requirements"
EXTENSION = re.compile(r"- scenario: (\S+)\n    leg: server\n    reason: extension\n")
INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional"]
MIN_NODE = 20
MINUTES = 5
MIN_SCENARIOS = 30

REVISIONS = ("2025-11-25", "2026-07-28")


async def run(*command, folder):
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(MINUTES * 60):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, output.decode()


@pytest.fixture
async def suite(pytestconfig):
    """A folder with the suite as the lock file pins it, digests checked."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    _, version = await run(node, "--version", folder=PINNED)
    if int(version.lstrip("v").partition(".")[0]) < MIN_NODE:
        pytest.skip(f"node {version.strip()} is older than {MIN_NODE}")
    folder = pytestconfig.cache.mkdir("mcp_conformance")
    lock, installed = PINNED / "package-lock.json", folder / "installed-lock.json"
    if installed.exists() and installed.read_text() == lock.read_text():
        return folder
    for file in PINNED.iterdir():
        shutil.copy(file, folder)
    status, output = await run(npm, *INSTALL, folder=folder)
    if status and "EINTEGRITY" not in output:
        pytest.skip(f"the suite cannot be installed: {output.strip()[-200:]}")
    assert status == 0, output
    shutil.copy(lock, installed)
    return folder


@pytest.fixture
async def url(workspace_api):
    """The server with a token on each request, which the suite has no option for."""
    addresses = ClientAddressResolver()
    blueprint = create_mcp_blueprint(workspace_api.service, addresses, DIAGNOSTIC_FEATURES)
    app = create_api_app(workspace_api.service.dispatch, addresses=addresses, pages=[blueprint])
    store, shop = workspace_api.service.ports.workspace, workspace_api.workspaces["shop"]
    token = await grant_access_token(store, shop, workspace_api.now, scopes=set(Scope))

    async def with_token(scope, receive, send):
        if scope["type"] == "http":
            authorization = (b"authorization", f"Bearer {token}".encode())
            scope = dict(scope) | {"headers": [*scope["headers"], authorization]}
        await app(scope, receive, send)

    async with run_server(with_token, "uvicorn") as live:
        yield f"http://127.0.0.1:{live.port}/mcp"


def checks_by_scenario(folder):
    """Scenario -> its checks."""
    return {
        re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1", path.parent.name): json.loads(path.read_text())
        for path in folder.glob("*/checks.json")
    }


@pytest.mark.parametrize("revision", REVISIONS)
async def test_published_suite_passes_every_scenario(suite, url, tmp_path, revision):
    scenarios, output = await run_scenarios(suite, url, revision, tmp_path / revision)
    assert len(scenarios) >= MIN_SCENARIOS, output
    failed = [
        (name, check["id"], check["errorMessage"])
        for name, checks in scenarios.items()
        for check in checks
        if check["status"] == "FAILURE"
    ]
    assert not failed, "\n".join(map(str, failed))
    assert [name for name, checks in scenarios.items() if not checks] == []
    schema = [
        check for checks in scenarios.values() for check in checks if check["id"] == "wire-schema-valid"
    ]
    assert {check["status"] for check in schema} == {"SUCCESS"}


async def run_scenarios(suite, url, revision, results):
    """The checks of each scenario of a revision, without those of extensions, and what the suite printed."""
    extensions = set(EXTENSION.findall((suite / REQUIREMENTS / f"{revision}.yaml").read_text()))
    node = shutil.which("node"), "--import", "./add_glob_sync.mjs", SUITE
    options = ["--url", url, "--requirements", revision, "-o", str(results)]
    status, output = await run(*node, "server", *options, folder=suite)
    assert status == 0, output
    checks = checks_by_scenario(results)
    return {name: found for name, found in checks.items() if name not in extensions}, output


def test_server_declares_no_extension():
    assert CAPABILITIES.keys() == {"tools", "resources", "prompts"}
