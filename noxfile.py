"""The checks of the project, by the names that continuous integration uses too.

`nox` alone runs everything a change must pass. Sessions run in the environment nox was started
from: the pins with hashes in ``requirements/dev.txt`` are that environment.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.options.default_venv_backend = "none"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
if Path("/etc/ssl/certs/ca-certificates.crt").exists():
    os.environ.setdefault("UV_SYSTEM_CERTS", "1")  # as pip does: a network may have a certificate of its own
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the tests start many processes: the first one compiles
nox.options.sessions = ["lint", "everything"]

PINS = {
    "runtime.txt": ["pyproject.toml", "--group", "build"],
    "dev.txt": ["pyproject.toml", "--group", "build", "--group", "dev"],
    # Every optional client: the image runs all deployments of contrib/deploy.
    "image.txt": ["pyproject.toml", "--group", "build", "--all-extras"],
    # The engine alone: the data frame libraries it names are optional, and change what tests see.
    "clickhouse.txt": ["--group", "clickhouse", "--no-deps"],
    # Clients of other products, in an environment of their own.
    "vendor-libraries.txt": ["--group", "vendor-libraries"],
    # The generator of a client, in an environment of its own: it needs an older typer.
    "openapi-client.txt": ["--group", "openapi-client"],
}
"""Requirement file -> the arguments that resolve it."""

CHECKS_DURING_TESTS = ("types", "imports", "pins", "api", "clickhouse")
"""Sessions that run one after the other while the tests run."""

PROCESSES = os.environ.get("TEST_PROCESSES", "3")
"""Number of test processes: more than a small machine has cores, as tests wait for servers, browsers and other processes."""

MAX_TESTS_RUN_AGAIN = 3
"""Failed tests that are run once more, alone; with more of them nothing is: that is no coincidence."""


@nox.session(name="lint")
def check_style_and_formatting(session: nox.Session) -> None:
    """Checks style and formatting with ruff; changes nothing."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(name="types")
def check_types_strictly(session: nox.Session) -> None:
    """Runs mypy in strict mode."""
    session.run("mypy")


@nox.session(name="imports")
def check_import_contracts(session: nox.Session) -> None:
    """Checks the import contracts in ``pyproject.toml``."""
    session.run("lint-imports")


@nox.session(name="pins")
def check_or_rewrite_pins(session: nox.Session) -> None:
    """Checks that the pins are what ``pyproject.toml`` resolves to; ``nox -s pins -- --write`` rewrites them."""
    for name, arguments in PINS.items():
        pinned = Path("requirements") / name
        with tempfile.TemporaryDirectory() as folder:
            fresh = Path(folder) / name
            # Starting from today's pins, the resolver changes only what no longer fits.
            fresh.write_text(pinned.read_text() if pinned.exists() else "")
            session.run(
                "uv", "pip", "compile", "--universal", "--python-version", "3.11",
                "--only-binary", ":all:", "--generate-hashes", "--no-header", "--no-annotate",
                "--no-emit-index-url", "--quiet", *arguments, "--output-file", str(fresh),
            )  # fmt: skip
            if "--write" in session.posargs:
                pinned.write_text(fresh.read_text())
            elif fresh.read_text() != pinned.read_text():
                session.error(f"{pinned} is not what pyproject.toml asks for: run `nox -s pins -- --write`")


@nox.session(name="everything")
def run_tests_and_all_checks_but_lint(session: nox.Session) -> None:
    """Runs the tests, and at the same time the checks of `CHECKS_DURING_TESTS` in another process."""
    install_pinned_clickhouse(session)
    command = [sys.executable, "-m", "nox", "-s", *CHECKS_DURING_TESTS]
    alone = os.environ | {"TEST_PROCESSES": "0"}
    with tempfile.TemporaryFile("w+") as output:
        checks = subprocess.Popen(command, env=alone, stdout=output, stderr=output)  # noqa: S603 - our own command
        try:
            run_tests_without_clickhouse(session)
        finally:
            failed = checks.wait()
            output.seek(0)
            sys.stdout.write(output.read())
    if failed:
        session.error(f"During the tests, one of {', '.join(CHECKS_DURING_TESTS)} failed.")


@nox.session(name="tests")
def run_tests_without_clickhouse(session: nox.Session) -> None:
    """Runs the whole test suite but for ClickHouse; faults are injected a small number of times.

    A few tests that fail beside all others are run once more, alone. One that passes then does not fail the session,
    but is named as unstable: it has shown a fault of the product or of the test, which has to be mended.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("-o", f"cache_dir={folder}", "-m", "not clickhouse", *session.posargs)
        try:
            session.run("pytest", "-n", PROCESSES, *arguments)
        except CommandFailed:
            failures = Path(folder, "v/cache/lastfailed")
            failed = sorted(json.loads(failures.read_text())) if failures.exists() else []
            if not 0 < len(failed) <= MAX_TESTS_RUN_AGAIN:
                raise
            session.run("pytest", "-n", "0", "--last-failed", *arguments)
            session.warn(f"UNSTABLE, failed beside other tests and passed alone: {', '.join(failed)}")


@nox.session(name="clickhouse")
def run_clickhouse_tests(session: nox.Session) -> None:
    """Installs ClickHouse as a library and runs its tests with few generated examples."""
    install_pinned_clickhouse(session)
    examples = {"TOUCHPOINT_EXAMPLES": os.environ.get("TOUCHPOINT_EXAMPLES", "2")}
    files = sorted(map(str, Path("tests").rglob("test_*clickhouse*.py")))
    session.run("pytest", "-n", PROCESSES, "-m", "clickhouse", *(session.posargs or files), env=examples)


def install_pinned_clickhouse(session: nox.Session) -> None:
    """Installs the pinned ClickHouse library into this environment; does nothing when it is installed."""
    session.run(
        "uv", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", "requirements/clickhouse.txt",
        env={"VIRTUAL_ENV": sys.prefix},
    )  # fmt: skip


@nox.session(name="api")
def fuzz_running_api(session: nox.Session) -> None:
    """Sends random requests to a running service and checks the responses against its OpenAPI document."""
    session.run("python", "-m", "tests.api_fuzzing", *session.posargs)


@nox.session(name="screenshot")
def compare_screenshots(session: nox.Session) -> None:
    """Compares the pictures of the README with the demo; ``nox -s screenshot -- --write`` takes them again."""
    session.run("python", "-m", "tests.screenshot", *session.posargs)


@nox.session(name="libraries")
def run_vendor_libraries(session: nox.Session) -> None:
    """Runs the published libraries of other products against the service; ``nox -s libraries -- --write`` records them again."""
    session.run("python", "-m", "tests.vendor_libraries", *session.posargs)


@nox.session(name="wrong-plugins")
def run_wrong_plugins(session: nox.Session) -> None:
    """Runs the conformance kits on plugins that are wrong in one thing, and prints which ones they catch."""
    session.run("python", "-m", "tests.plugin_kits")


@nox.session(name="first-plugin")
def time_first_plugin(session: nox.Session) -> None:
    """Takes an author's way for five kinds, from the scaffold to an installed wheel in use, and prints the seconds of each step."""
    session.run("python", "-m", "tests.plugin_author.first_plugin", *session.posargs)


@nox.session(name="faults")
def run_full_fault_injection(session: nox.Session) -> None:
    """Runs every fault injection test in full; takes ten minutes."""
    session.run("python", "-m", "tests.fault_injection", *session.posargs)


@nox.session(name="mutations")
def run_mutations(session: nox.Session) -> None:
    """Applies each mutation of tests/mutations/mutations.json and runs the tests of its package; names packages to run theirs."""
    session.run("python", "-m", "tests.mutations", *session.posargs)


@nox.session(name="bench")
def run_benchmarks(session: nox.Session) -> None:
    """Runs the named benchmarks, or the three usual ones; results are ratios to a reference in the same run."""
    for name in session.posargs or ["ingest", "edge", "reads"]:
        session.run("python", "-m", f"tests.bench.{name}")
