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
    from hosts.demo.shop.create_shop import ExampleShop
    from service_core.access.api_keys import CreatedWorkspace
    from service_core.access.models import Workspace

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
    Ctrl-C; a temporary folder is removed then. Beside the log there is an example shop with invented
    campaigns, orders, subscriptions and people; a link signs you in as its owner.
    """
    from hosts.cli.client import ApiClient
    from hosts.cli.demo_report import DAYS, fetch_and_print_last_seven_days
    from hosts.demo.demo_service import serve_in_subprocess
    from hosts.demo.shop.link_clicks import click_links
    from service_core.kernel.clock import system_clock

    console = output_console()
    with (
        _termination_signals_as_keyboard_interrupt(),
        _chosen_or_temporary_folder(folder) as data_folder,
        _chosen_or_bundled_log(log) as file,
    ):
        created = _create_demo_deployment(data_folder, config, site)
        shop = asyncio.run(_create_example_shop(data_folder / SETTINGS_FILE, created.workspace))
        addresses = api or _address_or_any_free_port(API), ingest or _address_or_any_free_port(INGEST)
        with serve_in_subprocess(data_folder / SETTINGS_FILE, *addresses) as service:
            console.print(f"Touchpoint runs: API {service.api}, ingest {service.ingest}\n", style="bold")
            _import_access_log_shifted_to_now(file, site, data_folder, created.workspace.public_id)
            click_links(service.ingest)
            fetch_and_print_last_seven_days(
                ApiClient(service.api, created.agent_key.secret), system_clock(), console
            )
            _print_line(f"\nLook at it: {service.api}/app/#key={created.agent_key.secret}&days={DAYS}")
            _print_line(f"Send it events: write key {created.write_key.secret}")
            if not exit_after:
                with _printed_sign_in_link_on_loopback(addresses[0], service.api, shop):
                    _wait_for_interrupt()


@contextmanager
def _printed_sign_in_link_on_loopback(listen_address: str, api: str, shop: "ExampleShop") -> Iterator[None]:
    """Print a link that signs a browser in to the example shop; none if other machines reach the service."""
    from hosts.demo.sign_in_link import is_loopback_address, serve_one_time_sign_in_link

    if not (is_loopback_address(listen_address) and is_loopback_address(api)):
        _print_line(
            "The example shop has no sign-in link: the service listens beyond this machine. "
            "`touchpoint member add` makes a password link."
        )
        yield
        return
    page = f"{api}/app/w/{shop.workspace.public_id}"
    with serve_one_time_sign_in_link(page, shop.session_secret) as link:
        _print_line(f"Open the example shop as its owner: {link} (works once)")
        yield


def _print_line(text: str) -> None:
    output_console().print(text, soft_wrap=True, markup=False)


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


async def _create_example_shop(config: Path, owned_too: "Workspace") -> "ExampleShop":
    from hosts.cli.deployment import load_and_compose_service
    from hosts.demo.shop.create_shop import create_example_shop

    async with load_and_compose_service(config) as service:
        return await create_example_shop(service, owned_too=owned_too)


def _import_access_log_shifted_to_now(file: Path, site: str, folder: Path, workspace: str) -> None:
    from hosts.cli.import_data import (
        describe_imported_file,
        print_import_counts_and_warnings,
        run_import_with_progress,
    )
    from hosts.data_import.access_logs import read_access_log_with_skipped_lines
    from hosts.worker.run_import import ImportTask
    from service_core.delivery.imports.models import ImportFormat

    task = ImportTask(
        folder / SETTINGS_FILE,
        describe_imported_file(file, ImportFormat.ACCESS_LOG),
        lambda: read_access_log_with_skipped_lines(file, site),
        shift_to_now=True,
        workspace=workspace,
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
