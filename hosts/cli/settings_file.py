"""The text of a new ``touchpoint.toml``, written from the settings themselves."""

from collections.abc import Iterator

from hosts.composition.load_settings import format_toml_value
from service_core.kernel.settings import Settings, SettingsSection


def render_settings_file() -> str:
    """Every setting with its description; where data is kept stands open, the rest as comments."""
    return "\n".join(_settings_file_lines(Settings()))


def _settings_file_lines(settings: Settings) -> Iterator[str]:
    yield "# Settings of this deployment. A line that is commented out shows the default."
    yield "# An environment variable TOUCHPOINT_<SECTION>__<NAME> overrides a line."
    yield "# In a URL of files, three slashes begin at the folder of this file, four at the root: sqlite:////srv/workspace.db"
    for name in Settings.model_fields:
        section = getattr(settings, name)
        yield f"\n[{name}]"
        yield from _section_lines_with_defaults_commented_out(section)
    yield ""


def _section_lines_with_defaults_commented_out(section: SettingsSection) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if field.description:
            yield f"# {field.description}"
        open_line = isinstance(value, str) and "://" in value
        yield f"{'' if open_line else '# '}{name} = {format_toml_value(value)}"
