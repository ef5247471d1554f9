"""``touchpoint demo``: the main job on real input, start to end."""

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import SETTINGS_FILE, Site, Template, output_console

if TYPE_CHECKING:
    from service_core.access.api_keys import CreatedWorkspace

SITE: Final = "http://www.semicomplete.com"
"""The site whose log comes with the demo."""

API: Final = "127.0.0.1:8080"
INGEST: Final = "127.0.0.1:8081"
"""Ports of the demo unless they are in use."""


def run_demo(
    log: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="LOG",
            help="Your own access log. [default: the bundled one]",
        ),
    ] = None,
    site: Site = SITE,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Keep the data here. [default: a temporary folder]"),
    ] = None,
    api: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help=f"Address of the API. [default: {API}, or a free port when it is in use]",
        ),
    ] = None,
    ingest: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help=f"Address of the ingest host. [default: {INGEST}, or a free port when it is in use]",
        ),
    ] = None,
    config: Template = None,
    exit_after: Annotated[
        bool, typer.Option("--exit", help="Exit after the report instead of serving on.")
    ] = False,
) -> None:
    """Run Touchpoint on an access log and show the results.

    Starts the service on a new folder, imports the log, shows what it says, and goes on serving until
    Ctrl-C; a temporary folder is removed then.
    """
    from hosts.cli.client import ApiClient
    from hosts.cli.demo_report import DAYS, fetch_and_print_last_seven_days
    from hosts.demo.demo_service import serve_in_subprocess
    from service_core.kernel.clock import system_clock

    console = output_console()
    with (
        _termination_signals_as_keyboard_interrupt(),
        _chosen_or_temporary_folder(folder) as data_folder,
        _chosen_or_bundled_log(log) as file,
    ):
        created = _create_demo_deployment(data_folder, config, site)
        addresses = api or _address_or_any_free_port(API), ingest or _address_or_any_free_port(INGEST)
        with serve_in_subprocess(data_folder / SETTINGS_FILE, *addresses) as service:
            console.print(f"Touchpoint runs: API {service.api}, ingest {service.ingest}\n", style="bold")
            _import_access_log_shifted_to_now(file, site, data_folder)
            fetch_and_print_last_seven_days(
                ApiClient(service.api, created.agent_key.secret), system_clock(), console
            )
            console.print(
                f"\nLook at it: {service.api}/app/#key={created.agent_key.secret}&days={DAYS}",
                soft_wrap=True,
                markup=False,
            )
            console.print(
                f"Send it events: write key {created.write_key.secret}", soft_wrap=True, markup=False
            )
            if not exit_after:
                _wait_for_interrupt()


def _address_or_any_free_port(address: str) -> str:
    """Return the address, or the same host with port 0 (any free port) when something listens there; says so."""
    from hosts.asgi_runner import bind_listener
    from service_core.kernel.errors import StartupError

    try:
        bind_listener(address).close()
    except StartupError:
        host, _, port = address.rpartition(":")
        output_console().print(f"Port {port} is in use, so the demo takes a free one.")
        return f"{host}:0"
    return address


def _create_demo_deployment(folder: Path, template: Path | None, site: str) -> "CreatedWorkspace":
    from urllib.parse import urlsplit

    from hosts.cli.init import create_deployment_or_remove_settings_file

    domain = (urlsplit(site).hostname or "").removeprefix("www.") or None
    file = folder / SETTINGS_FILE
    return create_deployment_or_remove_settings_file(
        file, template, name="Demo", timezone="UTC", currency="USD", domain=domain
    )


def _import_access_log_shifted_to_now(file: Path, site: str, folder: Path) -> None:
    from hosts.cli.import_data import print_import_counts_and_warnings, run_import_with_progress
    from hosts.data_import.access_logs import read_access_log_with_skipped_lines
    from hosts.data_import.run_import import ImportTask
    from hosts.file_digest import sha256_of_file

    task = ImportTask(
        folder / SETTINGS_FILE,
        sha256_of_file(file),
        lambda: read_access_log_with_skipped_lines(file, site),
        shift_to_now=True,
    )
    print_import_counts_and_warnings(
        file.name, run_import_with_progress(task, file.name, file.stat().st_size)
    )


@contextmanager
def _termination_signals_as_keyboard_interrupt() -> Iterator[None]:
    """End on SIGTERM and on a closed terminal as on Ctrl-C: the service stops, a temporary folder goes."""
    ends = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in ends]
    try:
        yield
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _chosen_or_temporary_folder(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="touchpoint-demo-") as temporary_folder:
        yield Path(temporary_folder)


@contextmanager
def _chosen_or_bundled_log(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen
        return
    with as_file(files("hosts.demo") / "access_log.gz") as bundled:
        yield bundled


def _wait_for_interrupt() -> None:
    output_console().print("Press Ctrl-C to stop.", style="dim")
    try:
        asyncio.run(asyncio.Event().wait())
    except KeyboardInterrupt:
        return
