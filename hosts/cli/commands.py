"""The list of commands, and how a refusal looks on a terminal."""

from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from hosts.cli import (
    ads,
    backup,
    connections,
    copy_store,
    costs,
    demo,
    docs,
    domains,
    fx,
    import_data,
    init,
    inspect_config,
    keys,
    lake,
    lost_events,
    members,
    person,
    plugin,
    plugin_list,
    postbacks,
    quarantine,
    query,
    revenue,
    serve,
    status,
    workspace,
)
from hosts.cli.options import error_console
from hosts.cli.plugin_commands import CONFIG_KEY, find_command_of_plugin, find_config_option
from hosts.cli.without_plugins import leave_out_plugins_until_close
from service_core.kernel.errors import ApiError, StartupError

_WITHOUT_PLUGIN: Final = "--without-plugin"


class _ErrorReportingGroup(TyperGroup):
    """Turns what a command refuses into a sentence: exit 2 for the deployment, 1 for the request."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the arguments; ``--without-plugin NAME`` may stand after the command, too."""
        ctx.meta[CONFIG_KEY] = find_config_option(args)
        return super().parse_args(ctx, _move_to_front(_WITHOUT_PLUGIN, args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns a built-in command; plugins are loaded only for a name that is not built in."""
        return super().get_command(ctx, cmd_name) or find_command_of_plugin(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except StartupError as fault:
            _print_error(str(fault))
            raise typer.Exit(2) from None
        except ApiError as refusal:
            _print_error(" ".join(filter(None, (f"{refusal.message}.", refusal.hint))))
            raise typer.Exit(1) from None


def _move_to_front(option: str, arguments: list[str]) -> list[str]:
    """Returns the arguments with an option and its value before the command."""
    front: list[str] = []
    others: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == option:
            front += [argument, *([value] if (value := next(remaining, None)) is not None else [])]
        elif argument.startswith(f"{option}="):
            front.append(argument)
        else:
            others.append(argument)
    return [*front, *others]


def _print_error(sentence: str) -> None:
    error_console().print(sentence, style="bold red", markup=False, soft_wrap=True)


app = typer.Typer(
    name="touchpoint",
    cls=_ErrorReportingGroup,
    help="Self-hosted web analytics, attribution and revenue over one JSON API.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"touchpoint {version('touchpoint-analytics')}")
        raise typer.Exit


@app.callback()
def _global_options(
    context: typer.Context,
    without_plugin: Annotated[
        list[str] | None,
        typer.Option(
            _WITHOUT_PLUGIN,
            metavar="NAME",
            help="Do not load this plugin; repeat for several, after any command.",
        ),
    ] = None,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before a command."""
    if without_plugin:
        leave_out_plugins_until_close(context, without_plugin)


app.command("init")(init.create_deployment_and_print_keys)
app.command("serve")(serve.serve_all_roles_or_one)
app.command("worker")(serve.run_export_workers)
app.command("status")(status.print_deployment_status)
app.command("doctor")(status.diagnose_deployment)
app.command("backup")(backup.back_up_deployment)
app.command("restore")(backup.restore_deployment)
inspect_config.config.command("accept-lost-events")(lost_events.accept_lost_events)
app.command("move")(copy_store.copy_and_compare_store)
app.command("demo")(demo.run_demo)
app.command("docs")(docs.check_or_write_reference_pages)
app.command("query")(query.query_running_service)
app.command("plugins")(plugin_list.list_plugins)
app.command("fx")(fx.show_exchange_rate_coverage)
app.add_typer(ads.app, name="ads")
app.add_typer(revenue.app, name="revenue")
app.add_typer(costs.app, name="costs")
app.add_typer(import_data.app, name="import")
app.add_typer(keys.app, name="key")
app.add_typer(lake.app, name="lake")
app.add_typer(members.app, name="member")
app.add_typer(person.app, name="person")
app.add_typer(plugin.app, name="plugin")
app.add_typer(postbacks.app, name="postbacks")
app.add_typer(quarantine.app, name="quarantine")
app.add_typer(workspace.app, name="workspace")
app.add_typer(connections.app, name="connection")
app.add_typer(domains.app, name="domain")
app.add_typer(inspect_config.config, name="config")
