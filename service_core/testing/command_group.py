"""The conformance kit of commands: override the fixture ``group`` and inherit the tests.

::

    class TestMyCommands(CommandGroupConformance):
        @pytest.fixture
        def group(self):
            return MY_COMMANDS
"""

import inspect
from typing import Any

import pytest

from service_core.extensions.command_groups import CommandGroup


class CommandGroupConformance:
    """All tests of the kit; override the fixture ``group``, and ``settings`` where the plugin has settings."""

    @pytest.fixture
    def group(self) -> CommandGroup:
        """Returns the commands under test."""
        raise pytest.UsageError("override the fixture `group` with the commands under test")

    @pytest.fixture
    def settings(self) -> Any:
        """Returns the settings of the plugin."""
        return None

    def test_group_opens_more_than_once(self, group: CommandGroup, settings: Any) -> None:
        """Opening depends on nothing that opening changes."""
        names = [[_name_of(command) for command in _commands(group, settings)] for _ in range(2)]
        assert names[0] == names[1]

    def test_every_command_has_a_name_of_its_own_and_a_help_text(
        self, group: CommandGroup, settings: Any
    ) -> None:
        """``--help`` tells what each command does."""
        commands = _commands(group, settings)
        names = [_name_of(command) for command in commands]
        assert names
        assert len(names) == len(set(names))
        assert [
            name
            for name, command in zip(names, commands, strict=True)
            if not (command.help or command.callback.__doc__)
        ] == []

    def test_every_command_is_a_function_that_runs_when_called(
        self, group: CommandGroup, settings: Any
    ) -> None:
        """Nothing awaits a command: the body of an ``async def`` would never run."""
        commands = _commands(group, settings)
        assert [
            _name_of(command) for command in commands if inspect.iscoroutinefunction(command.callback)
        ] == []

    def test_opening_prints_nothing(
        self, group: CommandGroup, settings: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Only a command that somebody enters does something."""
        group.open(settings)
        assert capsys.readouterr() == ("", "")


def _commands(group: CommandGroup, settings: Any) -> list[Any]:
    return list(group.open(settings).registered_commands)


def _name_of(command: Any) -> str:
    return str(command.name or command.callback.__name__.replace("_", "-"))
