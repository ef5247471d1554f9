"""Runs the published libraries against the service: ``python -m tests.vendor_libraries [--write] [NAME ...]``.

Fails if an event of theirs is missing or wrong in the answers. ``--write`` replaces their recordings and the table.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.analytics.deployment import run_deployment
from tests.hosts.ingest.protocol_host import ProtocolDeployment
from tests.vendor_libraries.libraries import LIBRARIES
from tests.vendor_libraries.live_run import install, start_live_run
from tests.vendor_libraries.shop import compare, replay_and_compare
from tests.vendor_libraries.table import write_table

INSTALLED = Path(".nox/vendor_libraries").absolute()


async def run_and_compare(libraries, folder, *, is_recorded):
    """Runs libraries against a served ingest host; returns the number of those with a difference."""
    failed = 0
    async with start_live_run(INSTALLED, folder) as live:
        for library in libraries:
            host, recording = await live.run(library)
            comparison = await compare(host, library, recording)
            right = f"{comparison.right} of {len(library.events)} events right"
            lines = [f"{library.name} {recording.version}: {right}", *comparison.differences]
            sys.stdout.write("\n  ".join(lines) + "\n")
            failed += bool(comparison.differences)
            if is_recorded:
                recording.save(library.name)
    return failed


async def write_table_of_replayed_recordings(folder):
    async with run_deployment("memory", folder) as served:
        deployment = ProtocolDeployment(served)
        write_table([(library, (await replay_and_compare(deployment, library))[0]) for library in LIBRARIES])


def main(arguments):
    install(INSTALLED)
    names, is_recorded = set(arguments) - {"--write"}, "--write" in arguments
    libraries = [library for library in LIBRARIES if not names or library.name in names]
    with tempfile.TemporaryDirectory() as live, tempfile.TemporaryDirectory() as replayed:
        failed = asyncio.run(run_and_compare(libraries, Path(live), is_recorded=is_recorded))
        if is_recorded:
            asyncio.run(write_table_of_replayed_recordings(Path(replayed)))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
