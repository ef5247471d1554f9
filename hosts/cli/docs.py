"""``touchpoint docs``: the reference pages, from what is installed."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from hosts.cli.options import output_console

FOLDER: Final = Path("docs/reference")


def check_or_write_reference_pages(
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Folder of the pages.")] = FOLDER,
    write: Annotated[
        bool, typer.Option("--write", help="Write the pages; otherwise list those that are out of date.")
    ] = False,
) -> None:
    """Check the reference pages against the code, or write them."""
    from hosts.composition.compose import load_installed_registry_once
    from hosts.reference.pages import render_reference_pages

    pages = render_reference_pages(load_installed_registry_once())
    stale = sorted(name for name, text in pages.items() if _read_file(folder / name) != text)
    if write:
        os.umask(0o022)  # pages are for everybody, unlike data
        folder.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (folder / name).write_text(pages[name], encoding="utf-8")
    console = output_console()
    for name in stale:
        console.print(
            f"{'written' if write else 'not up to date'}: {folder / name}", soft_wrap=True, markup=False
        )
    if stale and not write:
        raise typer.Exit(1)


def _read_file(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
