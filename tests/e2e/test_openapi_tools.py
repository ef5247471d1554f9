"""Published tools read the OpenAPI document of a running service: linters, and generators of clients that then use it."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.conftest import GUARD_SECONDS, ROOT

PINNED = Path(__file__).parent / "openapi_tools"
PYTHON_PINS = ROOT / "requirements" / "openapi-client.txt"
NPM_INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", "--silent")
MIN_NODE = 20


def run(*command, folder, check=True):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder, capture_output=True, text=True, check=False, timeout=GUARD_SECONDS,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def node_tools(pytestconfig):
    """A folder with the linters and the generator as the lock file pins them, digests checked."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    version = run("node", "--version", folder=PINNED).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < MIN_NODE:
        pytest.skip(f"node {version} is older than {MIN_NODE}")
    folder = pytestconfig.cache.mkdir("openapi_tools")
    lock, installed = PINNED / "package-lock.json", folder / "installed-lock.json"
    for file in PINNED.iterdir():
        shutil.copy(file, folder)
    if not installed.exists() or installed.read_text() != lock.read_text():
        done = run(*NPM_INSTALL, folder=folder, check=False)
        if done.returncode and "EINTEGRITY" not in done.stderr:
            pytest.skip(f"the tools cannot be installed: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
        shutil.copy(lock, installed)
    return folder


@pytest.fixture(scope="session")
def python_generator(pytestconfig):
    """The interpreter of an environment with openapi-python-client as it is pinned."""
    folder = pytestconfig.cache.mkdir("openapi_client")
    python, installed = folder / "venv" / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != PYTHON_PINS.read_text():
        uv = (sys.executable, "-m", "uv")
        run(*uv, "venv", "-q", "--clear", "--python", sys.executable, folder / "venv", folder=folder)
        run(
            *uv,
            "pip",
            "install",
            "-q",
            "--python",
            python,
            "--require-hashes",
            "-r",
            PYTHON_PINS,
            folder=folder,
        )
        shutil.copy(PYTHON_PINS, installed)
    return python


@pytest.fixture(scope="session")
def document(deployment, tmp_path_factory):
    """A file with the document as the service serves it."""
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    with urllib.request.urlopen(f"{deployment.running.api}/openapi.json", timeout=GUARD_SECONDS) as answer:
        file.write_bytes(answer.read())
    return file


@pytest.fixture
def client_arguments(deployment):
    running = deployment.running
    return running.api, running.ingest, deployment.reader, deployment.write_key


def test_linters_find_no_problem(node_tools, document):
    shutil.copy(document, node_tools / "openapi.json")
    spectral = run(
        "node_modules/.bin/spectral", "lint", "openapi.json", "-r", "spectral.yaml",
        "--fail-severity", "hint", "--format", "json", "--quiet",
        folder=node_tools, check=False,
    )  # fmt: skip
    assert json.loads(spectral.stdout[: spectral.stdout.rindex("]") + 1]) == []
    redocly = run(
        "node_modules/.bin/redocly", "lint", "openapi.json", "--config", "redocly.yaml", "--format", "json",
        folder=node_tools, check=False,
    )  # fmt: skip
    assert json.loads(redocly.stdout)["problems"] == []


def test_typescript_client_type_checks_and_reads_what_it_stored(node_tools, document, client_arguments):
    run(
        "node_modules/.bin/openapi-typescript", document, "-o", "schema.ts", "--default-non-nullable", "false",
        folder=node_tools,
    )  # fmt: skip
    run("node_modules/.bin/tsc", "-p", "tsconfig.json", folder=node_tools)
    done = run("node", "client.js", *client_arguments, folder=node_tools)
    assert_client_read_what_it_stored(json.loads(done.stdout))


def test_python_client_type_checks_and_reads_what_it_stored(
    python_generator, document, client_arguments, tmp_path
):
    shutil.copy(PINNED / "client.py", tmp_path)
    run(
        python_generator.parent / "openapi-python-client", "generate", "--path", document,
        "--output-path", "generated_client", "--meta", "none", "--config", PINNED / "generator.yaml",
        "--fail-on-warning",
        folder=tmp_path,
    )  # fmt: skip
    run(
        sys.executable, "-m", "mypy", "--config-file", os.devnull, "--python-executable", python_generator,
        "--cache-dir", tmp_path / "cache", "client.py", "generated_client",
        folder=tmp_path,
    )  # fmt: skip
    done = run(python_generator, "client.py", *client_arguments, folder=tmp_path)
    assert_client_read_what_it_stored(json.loads(done.stdout))


def assert_client_read_what_it_stored(answer):
    assert answer.pop("rows") >= 0
    assert answer == {
        "stored": True,
        "type": "page",
        "columns": ["country", "visitors"],
        "error": "Not found",
    }
