"""The text of a new ``touchpoint.toml``, written from the settings themselves."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from hosts.composition.load_settings import format_toml_value
from service_core.kernel.settings import Settings
from service_core.kernel.settings_section import SettingsSection

_SECRET_PARAMETER: Final = re.compile(r"(?:^|[?&_])(?:secret|token|key|password)=")
_SECRET_SETTINGS: Final = frozenset({"http.internal_token"})


def render_settings_file(
    settings: Settings | None = None, variable_by_setting: Mapping[str, str] | None = None
) -> str:
    """Every setting with its description; where data is kept stands open, the rest as comments.

    Args:
        settings: values that differ from the defaults stand open too; None for the defaults.
        variable_by_setting: ``section.name`` -> environment variable that names the setting now. Its value stands open; one
            with a password or key is written as a reference to the variable.
    """
    return "\n".join(_settings_file_lines(settings or Settings(), variable_by_setting or {}))


def _settings_file_lines(settings: Settings, variable_by_setting: Mapping[str, str]) -> Iterator[str]:
    yield "# Settings of this deployment. A line that is commented out shows the default."
    yield "# An environment variable TOUCHPOINT_<SECTION>__<NAME> overrides a line; ${NAME} in a value is the variable NAME."
    yield "# In a URL of files, three slashes begin at the folder of this file, four at the root: sqlite:////srv/workspace.db"
    for name in Settings.model_fields:
        section = getattr(settings, name)
        yield f"\n[{name}]"
        yield from _section_lines_with_defaults_commented_out(name, section, variable_by_setting)
    yield ""


def _section_lines_with_defaults_commented_out(
    section_name: str, section: SettingsSection, variable_by_setting: Mapping[str, str]
) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if field.description:
            yield f"# {field.description}"
        setting = f"{section_name}.{name}"
        variable = variable_by_setting.get(setting)
        is_open = (isinstance(value, str) and "://" in value) or variable or value != field.default
        written = f"${{{variable}}}" if variable and _holds_secret(setting, value) else value
        if value is None:
            yield f"# {name} is not set."
        else:
            yield f"{'' if is_open else '# '}{name} = {format_toml_value(written)}"


def _holds_secret(setting: str, value: object) -> bool:
    """Returns whether a value is a secret, or a URL with a password or key in it."""
    if setting in _SECRET_SETTINGS:
        return True
    return isinstance(value, str) and (
        bool(_SECRET_PARAMETER.search(value)) or ("://" in value and urlsplit(value).password is not None)
    )
