"""The command line: ``touchpoint``. Each command imports what it needs when it runs."""

from hosts.cli.commands import app


def main() -> None:
    """Run the command line; the entry point of the package."""
    app()
