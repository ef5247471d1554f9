"""The pages that say how something is added: their files are written down and their tests run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hosts.composition.compose import compose
from service_core import builtin
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.http_messages import ApiRequest
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"


def install_documented_module(folder, module):
    """As pip does for a package with one entry point: its own tests have to pass then, too."""
    about = folder / "shop-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[touchpoint]\n{module} = {module}\n")


@pytest.mark.parametrize(
    "page",
    [
        "contributors/add-a-metric.md",
        "contributors/add-an-attribution-model.md",
        "contributors/add-a-writable-resource.md",
        "integrators/add-a-revenue-provider.md",
        "integrators/add-an-ad-platform.md",
        "integrators/send-conversions.md",
    ],
)
def test_how_to_pages_have_working_files(page, tmp_path):
    files = FILE.findall((DOCS / page).read_text())
    assert len(files) >= 2
    for name, text in files:
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(INI)
    install_documented_module(tmp_path, files[0][0].removesuffix(".py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


async def test_plugin_page_endpoint_responds(tmp_path):
    text = (DOCS / "integrators" / "write-a-plugin.md").read_text()
    [example] = re.findall(
        r"^```python\n(from service_core.plugin import ResponseModel.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    plugin = ModuleType("greetings")
    exec(example, plugin.__dict__)
    registry = collect_plugins_into_registry([("builtin", builtin), ("greetings", plugin)])
    settings = Settings.model_validate({"storage": {"events": "memory://"}})
    async with compose(settings, tmp_path, registry=registry) as service:
        initialized_deployment = await create_workspace_with_keys(
            service.ports.workspace.credentials, system_clock(), name="Shop"
        )
        sent = {"authorization": f"Bearer {initialized_deployment.agent_key.secret}"}
        answer = await service.dispatch(ApiRequest("GET", "/v1/greeting", "", sent))
    assert json.loads(answer.body) == {"workspace": "Shop"}
