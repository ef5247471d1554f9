"""The checks of the project, by the names that continuous integration uses too.

`nox` alone runs everything a change must pass. Sessions run in the environment nox was started
from: the pins with hashes in ``requirements/dev.txt`` are that environment.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
if Path("/etc/ssl/certs/ca-certificates.crt").exists():
    os.environ.setdefault("UV_SYSTEM_CERTS", "1")  # as pip does: a network may have a certificate of its own
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the tests start many processes: the first one compiles
nox.options.sessions = ["lint", "everything"]

PINS = {
    "runtime.txt": ["pyproject.toml", "--group", "build"],
    "dev.txt": ["pyproject.toml", "--group", "build", "--group", "dev"],
    # The engine alone: the data frame libraries it names are for its other doors, and change what tests see.
    "clickhouse.txt": ["--group", "clickhouse", "--no-deps"],
}
"""Requirement file -> what it holds."""

BESIDE = ("types", "imports", "pins", "api", "clickhouse")
"""What runs beside the tests, one after the other."""

PROCESSES = os.environ.get("TEST_PROCESSES", "3")
"""How many run tests: more than a small machine has cores, as tests wait for servers, browsers and other processes."""


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types."""
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    """The walls of the house."""
    session.run("lint-imports")


@nox.session
def pins(session: nox.Session) -> None:
    """The pins hold exactly what pyproject asks for; ``nox -s pins -- --write`` renews them."""
    for name, held in PINS.items():
        pinned = Path("requirements") / name
        with tempfile.TemporaryDirectory() as folder:
            fresh = Path(folder) / name
            # Starting from today's pins, the resolver changes only what no longer fits.
            fresh.write_text(pinned.read_text() if pinned.exists() else "")
            session.run(
                "uv", "pip", "compile", "--universal", "--python-version", "3.11",
                "--only-binary", ":all:", "--generate-hashes", "--no-header", "--no-annotate",
                "--no-emit-index-url", "--quiet", *held, "--output-file", str(fresh),
            )  # fmt: skip
            if "--write" in session.posargs:
                pinned.write_text(fresh.read_text())
            elif fresh.read_text() != pinned.read_text():
                session.error(f"{pinned} is not what pyproject.toml asks for: run `nox -s pins -- --write`")


@nox.session
def everything(session: nox.Session) -> None:
    """Every check but style at the same time: the tests, and beside them the others."""
    install_engine(session)
    command = [sys.executable, "-m", "nox", "-s", *BESIDE]
    alone = os.environ | {"TEST_PROCESSES": "0"}
    with tempfile.TemporaryFile("w+") as said:
        beside = subprocess.Popen(command, env=alone, stdout=said, stderr=said)  # noqa: S603 - our own command
        try:
            tests(session)
        finally:
            failed = beside.wait()
            said.seek(0)
            sys.stdout.write(said.read())
    if failed:
        session.error(f"Beside the tests, one of {', '.join(BESIDE)} failed.")


@nox.session
def tests(session: nox.Session) -> None:
    """Behaviour, conformance, documents and a small number of every fault."""
    session.run("pytest", "-n", PROCESSES, "-m", "not clickhouse", *session.posargs)


@nox.session
def clickhouse(session: nox.Session) -> None:
    """The ClickHouse engine in this process: the conformance kit with fewer worlds, HTTP, a cluster."""
    install_engine(session)
    worlds = {"TOUCHPOINT_EXAMPLES": os.environ.get("TOUCHPOINT_EXAMPLES", "2")}
    files = sorted(map(str, Path("tests").rglob("test_*clickhouse*.py")))
    session.run("pytest", "-n", PROCESSES, "-m", "clickhouse", *(session.posargs or files), env=worlds)


def install_engine(session: nox.Session) -> None:
    """ClickHouse as a library, unless it is here."""
    session.run(
        "uv", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", "requirements/clickhouse.txt",
        env={"VIRTUAL_ENV": sys.prefix},
    )  # fmt: skip


@nox.session
def api(session: nox.Session) -> None:
    """Random requests against a running service, checked against its own OpenAPI document."""
    session.run("python", "-m", "tests.api_fuzzing", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Every fault in full: minutes, not seconds."""
    session.run("python", "-m", "tests.fault_injection", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmarks as ratios to a reference in the same run; see ``tests/bench``."""
    for name in session.posargs or ["ingest", "edge", "reads"]:
        session.run("python", "-m", f"tests.bench.{name}")
