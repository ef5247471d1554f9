"""What the documents say is true: their commands run, their links lead somewhere, reference pages are fresh."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.composition.compose import compose, load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import start_adapters
from hosts.reference.pages import render_reference_pages
from service_core.kernel.clock import system_clock
from service_core.kernel.operations import Scope
from tests.e2e.conftest import GUARD_SECONDS, INTERNAL_TOKEN, ROOT, run_touchpoint
from tests.mcp.mcp_client import grant_access_token

PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "plugins").glob("*/README.md"),
        *(ROOT / "contrib").glob("**/README.md"),
    ]
)
EXAMPLES = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
]


@pytest.fixture(scope="session")
def writing_key(initialized_deployment) -> str:
    """A named key that may also write: pages call it `$KEY`."""
    scopes = [f"--scope=service:{name}" for name in ("read", "write:reports", "write:links")]
    made = run_touchpoint("key", "create", *scopes, "--json", "--config", str(initialized_deployment.config))
    return json.loads(made)["key"]


@pytest.fixture(scope="session")
def access_token(initialized_deployment) -> str:
    """Of a program an owner connected, who lets it read and make links."""

    async def connect() -> str:
        service = compose(
            load_settings_with_environment(initialized_deployment.config),
            initialized_deployment.config.parent,
        )
        async with start_adapters([service.ports.workspace]):
            store = service.ports.workspace
            [workspace] = await store.credentials.list_workspaces()
            return await grant_access_token(
                store, workspace, system_clock(), scopes=[Scope.READ, Scope.WRITE_LINKS]
            )

    return asyncio.run(connect())


@pytest.mark.parametrize("example", EXAMPLES)
def test_documented_example_runs(example, deployment, writing_key, access_token):
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "API": deployment.running.api,
        "INGEST": deployment.running.ingest,
        "AGENT_KEY": deployment.agent_key,
        "WRITE_KEY": deployment.write_key,
        "KEY": writing_key,
        "TOKEN": access_token,
        "INTERNAL_TOKEN": INTERNAL_TOKEN,
    }
    done = subprocess.run(
        ["bash", "-euc", example],
        capture_output=True, text=True, env=environment, check=False, timeout=GUARD_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.get("success", True) or answer["error"] == "Duplicate event detected"
    assert "code" not in answer
    assert not answer.get("result", {}).get("isError")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", sorted(render_reference_pages(load_installed_registry_once())))
def test_reference_page_matches_the_declarations(name):
    page = ROOT / "docs" / "reference" / name
    assert page.read_text() == render_reference_pages(load_installed_registry_once())[name], (
        "run `touchpoint docs --write`"
    )


def test_required_url_option_is_documented_as_required():
    page = render_reference_pages(load_installed_registry_once())["adapters.md"]
    assert "`sender` (required)" in page
    assert "Undefined" not in page


def test_endpoint_reference_lists_nested_response_fields():
    page = render_reference_pages(load_installed_registry_once())["operations.md"]
    assert "`connected_platforms` [`provider`, `status`]" in page
    assert "`rate_limit` (`limit`, `window_seconds`, `mutations_limit`)" in page


def test_continuous_integration_runs_the_command_of_the_readme():
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert f"```\n{command}\n```" in (ROOT / "README.md").read_text()


def test_demo_shows_numbers_a_chart_and_a_page():
    result = run_touchpoint("demo", "--exit", "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0")
    for part in ("Visitors", "Page views per hour", "google.com", "/app/#key=dk_agent_"):
        assert part in result
    assert re.search("[▁▂▃▄▅▆▇█]{5}", result)
    assert "last seven days" in result
    assert "&days=7\n" in result


def test_changelog_fragments_have_valid_names():
    for fragment in Path(ROOT / "docs" / "changelog.d").glob("*"):
        assert re.fullmatch(r"\+[a-z0-9-]+\.(feature|change|fix)\.md|\.gitignore", fragment.name), (
            fragment.name
        )
