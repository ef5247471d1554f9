"""Opens every adapter that the environment names; nothing is started. The argument is the ASGI server."""

import sys
from pathlib import Path

from hosts.asgi_runner import require_server_installed
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import PORTS, Ports
from service_core.kernel.clock import system_clock

if __name__ == "__main__":
    require_server_installed(sys.argv[1])
    ports = Ports(
        load_settings_with_environment(None), Path.cwd(), load_installed_registry_once(), system_clock
    )
    for name in PORTS:
        ports.adapter(name)
