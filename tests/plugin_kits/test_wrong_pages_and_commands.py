"""Pages and commands that are wrong in one thing, and the promise that catches each."""

from collections.abc import Mapping
from typing import ClassVar

import pytest
import typer

from service_core.plugin import CommandGroup, PageSection, WebPage
from service_core.testing.command_group import CommandGroupConformance
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

PAGE, PAGE_TESTS = load_example("page")
COMMAND, COMMAND_TESTS = load_example("command")
TEMPLATE = "right_page.html"
LAYOUT = '{% extends "workspace_layout.html" %}\n'


class WrongPage(WrongPlugin, PAGE_TESTS.TestRightPage):
    """The right page with another function ``load``, text of its template, or style sheet or script."""

    template = "{% block content %}<p>{{ values.problem }}</p>{% endblock %}"
    layout = LAYOUT
    static: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def page(self, tmp_path):
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / TEMPLATE).write_text(self.layout + self.template)
        (tmp_path / "static").mkdir()
        for name, text in self.static.items():
            (tmp_path / "static" / name).write_text(text)
        load = vars(type(self)).get("load", staticmethod(PAGE.load_page)).__func__
        return WebPage(
            id="right_page",
            label="Right page",
            section=PageSection.EXPLORE,
            folder=tmp_path,
            template=TEMPLATE,
            load=load,
        )


class TestUnreadTotalsAreAnError(
    WrongPage, promise="page_is_shown_while_nothing_can_be_read", raises=KeyError
):
    @staticmethod
    async def load(request):
        answer = await request.api.query({"metrics": ["pageviews"]})
        return {"totals": answer.body["totals"]}


class TestPageIsANumber(WrongPage, promise="page_takes_any_query_parameter", raises=ValueError):
    @staticmethod
    async def load(request):
        return {"page": int(request.parameters.get("page", "1"))}


class TestPathHasNoSlash(WrongPage, promise="paths_of_reads_begin_with_a_slash"):
    @staticmethod
    async def load(request):
        return {"links": (await request.api.get("links")).body}


class TestPageHasNoMenu(WrongPage, promise="template_extends_the_layout_of_a_workspace"):
    layout = ""


BLOCKED = "templates_have_nothing_that_the_content_security_policy_blocks"


class TestScriptIsInThePage(WrongPage, promise=BLOCKED, case="a script inside"):
    template = "<script>alert(1)</script>"


class TestStyleIsInThePage(WrongPage, promise=BLOCKED, case="a style inside"):
    template = '<p style="color: red">x</p>'


class TestButtonHasAnEventAttribute(WrongPage, promise=BLOCKED, case="an event attribute"):
    template = '<button onclick="go()">x</button>'


class TestLibraryIsOfAnotherHost(WrongPage, promise=BLOCKED, case="a file of another host"):
    template = '<script src="https://cdn.example/chart.js"></script>'


class TestVideoIsOfAnotherHost(WrongPage, promise=BLOCKED, case="a file of another host"):
    template = '<iframe src="//video.example/1"></iframe>'


class TestFormIsSentToAnotherHost(WrongPage, promise=BLOCKED, case="a file of another host"):
    template = '<form method="post" action="https://forms.example/1"></form>'


class TestLinkIsAScript(WrongPage, promise=BLOCKED, case="an address that is a script"):
    template = '<a href="javascript:go()">x</a>'


class TestValueIsWrittenAsHtml(WrongPage, promise="templates_escape_every_value"):
    template = "{{ values.problem | safe }}"


class TestBlockIsNotClosed(WrongPage, promise="templates_have_no_syntax_error"):
    template = "{% block content %}{{ values.problem }}"


class TestFontIsOfAnotherHost(WrongPage, promise="static_files_load_nothing_from_another_host"):
    static: ClassVar[Mapping[str, str]] = {"page.css": "@import url('https://fonts.example/a.css');"}


class TestScriptCallsAnotherHost(WrongPage, promise="static_files_load_nothing_from_another_host"):
    static: ClassVar[Mapping[str, str]] = {"page.js": "fetch('https://stats.example/hit')"}


class TestPictureIsNotServed(WrongPage, promise="static_files_are_of_served_types"):
    static: ClassVar[Mapping[str, str]] = {"logo.png": "x"}


class WrongCommands(WrongPlugin, CommandGroupConformance):
    """The right commands after ``change``."""

    @pytest.fixture
    def group(self):
        return CommandGroup("right-command", self.open_commands)

    def open_commands(self, settings):
        app = COMMAND.open_commands(settings)
        self.change(app)
        return app


class TestCommandsAreAddedAgain(WrongCommands, promise="group_opens_more_than_once"):
    app = typer.Typer()

    def open_commands(self, settings):
        self.app.command("greet")(lambda: None)
        return self.app


class TestTwoCommandsHaveAName(WrongCommands, promise="every_command_has_a_name_of_its_own_and_a_help_text"):
    def change(self, app):
        app.command("greet", help="Greet again.")(lambda: None)


class TestCommandHasNoHelp(WrongCommands, promise="every_command_has_a_name_of_its_own_and_a_help_text"):
    def change(self, app):
        app.command("leave")(lambda: None)


class TestCommandIsNeverAwaited(WrongCommands, promise="every_command_is_a_function_that_runs_when_called"):
    def change(self, app):
        async def leave():
            """Leave."""

        app.command("leave")(leave)


class TestOpeningGreets(WrongCommands, promise="opening_prints_nothing"):
    def change(self, app):
        typer.echo("Hello world.")
