"""The command line: ``touchpoint``. Each command imports what it needs when it runs."""

from hosts.cli.commands import app
from service_core.kernel.private_files import set_private_umask


def main() -> None:
    """Run the command line; the entry point of the package."""
    set_private_umask()
    app()
