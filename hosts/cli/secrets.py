"""Credentials of connections on the command line: their names stand there, their values never do."""

import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosts.composition.ports import Ports

SecretNames = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME[=VARIABLE]",
        help="A credential, as the provider's page names it; repeat for several. Its value is read from the "
        "environment variable, or from a line of standard input.",
    ),
]
"""``--secret NAME[=VARIABLE]``"""


def read_secrets_from_environment_or_stdin(secret_options: Iterable[str]) -> dict[str, str]:
    """Values of credentials by name, in the order they are asked for.

    Raises:
        typer.BadParameter: a variable is not set, or a value is empty; the message contains no value.
    """
    return {
        name: _read_secret_or_raise_bad_parameter(name, variable if equals else None)
        for name, equals, variable in (text.partition("=") for text in secret_options)
    }


@asynccontextmanager
async def open_workspace_store_and_cipher(config: Path) -> AsyncIterator["Ports"]:
    """The ports of a deployment, of which the workspace store and the secret cipher are open.

    Raises:
        StartupError: they cannot be used, or what is sealed cannot be opened.
    """
    from hosts.cli.deployment import open_existing_deployment

    with _cipher_errors_as_startup_errors():
        async with open_existing_deployment(config, "secret_cipher") as ports:
            yield ports


@contextmanager
def _cipher_errors_as_startup_errors() -> "Iterator[None]":
    """Shows the operator why the secret cipher cannot be opened, instead of a traceback."""
    from service_core.commerce.credentials.ports import CipherUnavailable
    from service_core.kernel.errors import StartupError

    try:
        yield
    except CipherUnavailable as fault:
        raise StartupError(fault.reason) from None


def _read_secret_or_raise_bad_parameter(secret_name: str, variable: str | None) -> str:
    value = _prompt_or_read_stdin_line(secret_name) if variable is None else os.environ.get(variable, "")
    if not value:
        # What stands after the = may be the value itself, by mistake: it is not repeated.
        where = (
            "standard input has no line for it" if variable is None else "no such environment variable is set"
        )
        raise typer.BadParameter(
            f"{secret_name} has no value: {where}. Values are never taken from the command line, where others see them.",
            param_hint="--secret",
        )
    return value


def _prompt_or_read_stdin_line(secret_name: str) -> str:
    if sys.stdin.isatty():
        typed: str = typer.prompt(secret_name, hide_input=True, err=True)
        return typed.strip()
    return sys.stdin.readline().strip()
