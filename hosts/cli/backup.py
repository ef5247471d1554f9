"""``touchpoint backup`` and ``touchpoint restore``: what lies on this machine, as one consistent copy."""

import asyncio
import time
from datetime import datetime
from pathlib import Path
from shutil import copyfile
from typing import Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, SETTINGS_FILE, ConfigFile, output_console


def back_up_deployment(
    target: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A new folder, or a file ending with .tar or .tar.gz.")
    ],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Back up the deployment while it runs.

    Everything acknowledged before the backup began is in it. Events are accepted and questions answered
    meanwhile; new events become visible when the event store is copied. It holds hashed keys and the
    settings file: keep it as private as the data folder.
    """
    from hosts.backup.create import create_backup

    console, began = output_console(), time.monotonic()
    with console.status("Copying") as shown:
        manifest = create_backup(config, target, lambda name: shown.update(f"Copying {name}"))
    console.print(
        f"{target}: {manifest.size / 1e6:,.1f} MB in {time.monotonic() - began:.1f} s.",
        style="green", soft_wrap=True, markup=False,
    )  # fmt: skip
    for setting in manifest.external_settings:
        console.print(
            f"Not in it: what {setting} names is kept by a server. Use that server's own backups.",
            style="yellow", soft_wrap=True, markup=False,
        )  # fmt: skip


def restore_deployment(
    source: Annotated[Path, typer.Argument(metavar="DIR|FILE", exists=True, help="The backup.")],
    folder: Annotated[Path, typer.Argument(metavar="NEW_DIR", help="Folder of the restored deployment.")],
    replacement_settings: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Settings file for the restored deployment; copied. [default: that of the backup]",
        ),
    ] = None,
    tombstones: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="More tombstones of persons erased after the backup; those beside the backup are applied anyway.",
        ),
    ] = None,
) -> None:
    """Restore a backup into a new folder.

    Every file is compared with its digest first. Persons that were erased after the backup are erased again,
    by the tombstones that the deployment wrote beside its backups. Events that waited when the backup was made are stored
    when the service starts.
    """
    from hosts.backup.restore import restore_backup_into_empty_folder, save_time_of_restore
    from hosts.backup.tombstones import (
        read_tombstones,
        read_tombstones_beside_backup,
        request_erasures_of_tombstones,
    )

    began = time.monotonic()
    erased = read_tombstones_beside_backup(source)
    erased += [] if tombstones is None else read_tombstones(tombstones)
    manifest = restore_backup_into_empty_folder(source, folder)
    if replacement_settings is not None:
        copyfile(replacement_settings, folder / SETTINGS_FILE)
    asyncio.run(save_time_of_restore(folder / SETTINGS_FILE))
    requested = asyncio.run(request_erasures_of_tombstones(folder / SETTINGS_FILE, erased)) if erased else 0
    created_at = datetime.fromisoformat(manifest.created_at)
    output_console().print(
        f"{folder} is as it was at {created_at:%Y-%m-%d %H:%M:%S} UTC: {manifest.size / 1e6:,.1f} MB in "
        f"{time.monotonic() - began:.1f} s.\nStart it: touchpoint serve --config {folder / SETTINGS_FILE}",
        style="green", soft_wrap=True, markup=False,
    )  # fmt: skip
    if requested:
        output_console().print(
            f"{requested} persons erased after the backup are erased again when the service starts.",
            soft_wrap=True, markup=False,
        )  # fmt: skip
