"""The form of the workspace settings: what it starts with, and what it sends."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from hosts.web.cards.card import Answer
from hosts.web.forms import FormFields, format_number_exactly, parse_number_or_text
from service_core.access.write_policy import ProgramKind
from service_core.kernel.operations import Scope
from service_core.workspace.settings.fields import SettingFields

SETTING_LABELS: Final[Mapping[str, str]] = {
    name: field.title or name for name, field in SettingFields.model_fields.items()
}
"""Setting to its label, as declared."""

SETTING_HINTS: Final[Mapping[str, str]] = {
    name: field.description or "" for name, field in SettingFields.model_fields.items()
}
"""Setting to the sentence that explains it, as declared."""

SPARE_LINES: Final = 2
"""Empty lines below the channels and the fees."""

_TEXTS: Final = ("name", "domain", "timezone", "currency", "model")
_NUMBERS: Final = ("window_days", "event_retention_days")
_NAME_LISTS: Final = ("conversions", "revenue_events")
_CHANNEL_FIELDS: Final = ("id", "source", "medium", "campaign")
_FEE_FIELDS: Final = ("provider", "percent", "fixed", "currency")

APPROVAL_SCOPES: Final[Mapping[str, str]] = {
    Scope.WRITE_RULES: "Rules, workspace settings and connections",
    Scope.WRITE_LINKS: "Tracking links",
    Scope.WRITE_REPORTS: "Dashboards, reports and public links",
    Scope.PROPOSE_SCRIPTS: "Script proposals",
}
"""Scope of writes that may need an approval -> what it is called in the form."""

PROGRAM_LABELS: Final[Mapping[str, str]] = {
    ProgramKind.OAUTH: "Connected apps and assistants",
    ProgramKind.KEY: "API keys",
}
"""Kind of program -> what it is called in the form."""


def values_of_settings(settings: Answer) -> dict[str, Any]:
    """Returns what the form of stored settings starts with."""
    values: dict[str, Any] = {name: _text(settings[name]) for name in (*_TEXTS, *_NUMBERS)}
    values |= {name: "\n".join(settings[name] or ()) for name in _NAME_LISTS}
    return values | {
        "any_revenue": settings["any_revenue"],
        "approvals": {
            (rule["credential"], rule["scope"]): rule["changes"] for rule in settings["write_approvals"]
        },
        "plan_tokens": settings["plan_tokens"],
        "channels": _with_spare_lines(_CHANNEL_FIELDS, settings["channels"]),
        "fees": _with_spare_lines(_FEE_FIELDS, settings["fees"]),
        "expected_updated_at": settings["updated_at"],
    }


def values_of_form(form: FormFields) -> dict[str, Any]:
    """Returns what was typed."""
    values: dict[str, Any] = {name: form.text(name) for name in (*_TEXTS, *_NUMBERS, "expected_updated_at")}
    values |= {name: form.text(name) for name in _NAME_LISTS}
    return values | {
        "any_revenue": bool(form.text("any_revenue")),
        "approvals": _approvals_of_form(form),
        "plan_tokens": _plan_tokens_of_form(form),
        "channels": _with_spare_lines(_CHANNEL_FIELDS, _lines_of_form(form, "channel", _CHANNEL_FIELDS)),
        "fees": _with_spare_lines(_FEE_FIELDS, _lines_of_form(form, "fee", _FEE_FIELDS)),
    }


def settings_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API; an empty field has no value, and no goals are the built-in ones."""
    settings: dict[str, Any] = {name: form.text(name) or None for name in _TEXTS}
    settings["name"] = form.text("name")
    settings |= {name: _whole_number_or_text(form, name) for name in _NUMBERS}
    settings["any_revenue"] = bool(form.text("any_revenue"))
    settings["conversions"] = _names_of_lines(form.text("conversions")) or None
    settings["revenue_events"] = _names_of_lines(form.text("revenue_events"))
    settings["channels"] = [
        {name: text or None for name, text in line.items()}
        for line in _lines_of_form(form, "channel", _CHANNEL_FIELDS)
    ]
    settings["write_approvals"] = [
        {"credential": credential, "scope": scope, "changes": changes}
        for (credential, scope), changes in _approvals_of_form(form).items()
    ]
    settings["plan_tokens"] = _plan_tokens_of_form(form)
    settings["fees"] = [_fee_of_line(line) for line in _lines_of_form(form, "fee", _FEE_FIELDS)]
    return settings


def _approvals_of_form(form: FormFields) -> dict[tuple[str, str], str]:
    """Returns which changes need an approval, by program and scope; others need none."""
    chosen = {
        (program, scope): form.text(f"approval:{program}:{scope}")
        for scope in APPROVAL_SCOPES
        for program in PROGRAM_LABELS
    }
    return {key: changes for key, changes in chosen.items() if changes}


def _plan_tokens_of_form(form: FormFields) -> list[str]:
    return sorted(str(program) for program in PROGRAM_LABELS if form.text(f"plan_token:{program}"))


def fields_that_differ(settings: Answer, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields to change; the order of event names does not count."""
    return {
        name: value
        for name, value in wanted.items()
        if _ignore_order_of_names_and_approvals(value) != _ignore_order_of_names_and_approvals(settings[name])
    }


def _whole_number_or_text(form: FormFields, name: str) -> int | str | None:
    """Returns a whole number, a text that is none, for the API to refuse, or None for an empty field."""
    number = form.integer(name)
    return form.text(name) or None if number is None else number


def _ignore_order_of_names_and_approvals(value: Any) -> Any:
    """Returns a value without the order of event names and approvals, which does not count."""
    if not isinstance(value, list) or any(not isinstance(part, (str, Mapping)) for part in value):
        return value
    if all(isinstance(part, str) for part in value):
        return sorted(set(value))
    is_approvals = all("scope" in part for part in value)
    return sorted(value, key=lambda rule: (rule["credential"], rule["scope"])) if is_approvals else value


def _fee_of_line(line: Mapping[str, str]) -> dict[str, Any]:
    return {
        "provider": line["provider"],
        "percent": parse_number_or_text(line["percent"]),
        "fixed": parse_number_or_text(line["fixed"]) or 0.0,
        "currency": line["currency"].upper() or None,
    }


def _lines_of_form(form: FormFields, prefix: str, names: Iterable[str]) -> list[dict[str, str]]:
    """Returns the lines whose first field has a value."""
    names = tuple(names)
    lines = zip(*(form.all(f"{prefix}_{name}") for name in names), strict=False)
    typed = [{name: text.strip() for name, text in zip(names, line, strict=True)} for line in lines]
    return [line for line in typed if line[names[0]]]


def _with_spare_lines(names: Iterable[str], lines: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    names = tuple(names)
    filled = [{name: _text(line.get(name)) for name in names} for line in lines]
    return [*filled, *[dict.fromkeys(names, "") for _ in range(SPARE_LINES)]]


def _names_of_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return format_number_exactly(value) if isinstance(value, float) else str(value)
