"""``touchpoint plugin``: makes and checks plugins."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import AsJson, output_console

if TYPE_CHECKING:
    from hosts.plugin_author.report import PluginReport

app = typer.Typer(help="Make and check plugins.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _plugin_group() -> None:
    """Make and check plugins."""


@app.command("new")
def create_plugin_package(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What it provides, as revenue_provider.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the plugin, as acme_shop.")],
    parent: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where its folder is made.")] = Path(),
) -> None:
    """Make the package of a new plugin.

    It can be installed and passes its tests.

    Kinds: revenue_provider, webhook_source, ad_platform, conversion_sender, attribution_model, metric_pack, resource,
    operation, page, command, ingest_protocol, import_source, transform, event_reaction, scheduled_job, geo, limiter, mail,
    export_storage, rate_source.
    """
    from hosts.plugin_author.kinds import KINDS
    from hosts.plugin_author.scaffold import write_plugin_package

    if kind not in KINDS:
        raise typer.BadParameter(f"there is no kind {kind}; kinds are {', '.join(KINDS)}", param_hint="KIND")
    folder = write_plugin_package(kind, name, parent)
    output_console().print(
        f"{folder} is made. Check it: touchpoint plugin check {folder}", soft_wrap=True, markup=False
    )


@app.command("check")
def check_plugin_and_write_report(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", exists=True, help="Folder with a pyproject.toml, or one Python file."),
    ],
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the report to FILE.json and FILE.md."),
    ] = None,
    save: Annotated[
        bool,
        typer.Option(
            "--save", help="Write the report into the package, so that touchpoint plugins shows its level."
        ),
    ] = False,
    with_types: Annotated[bool, typer.Option("--types/--no-types", help="Run mypy.")] = True,
    as_json: AsJson = False,
) -> None:
    """Check a plugin offline.

    Checks declaration, imports, tests and kits, types and security. Nothing is installed. The level is bronze,
    silver or gold, by the rules that ran and passed. Exit code 1 below bronze.
    """
    import json

    from hosts.plugin_author.check import check_plugin, find_plugin
    from hosts.plugin_author.saved_report import save_report

    checked = check_plugin(path, with_types=with_types)
    if save:
        save_report(checked, find_plugin(path).modules[0])
    if report is not None:
        Path(f"{report}.json").write_text(json.dumps(checked.to_json(), indent=2), encoding="utf-8")
        Path(f"{report}.md").write_text(checked.to_markdown(), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(checked.to_json()))
    else:
        _print_report(checked)
    if checked.level is None:
        raise typer.Exit(1)


def _print_report(checked: "PluginReport") -> None:
    console = output_console()
    words = {True: "passed", False: "failed", None: "did not run"}
    for result in checked.results:
        console.print(
            f"{words[result.passed]:<12} {result.rule} ({result.level})", soft_wrap=True, markup=False
        )
        for detail in result.details if not result.passed else ():
            console.print(f"             {detail}", soft_wrap=True, markup=False)
    console.print(f"Level: {checked.level or 'none'}", style="bold", soft_wrap=True, markup=False)
