"""The range of a saved object: in words, and as the state of its page until the address says another."""

from collections.abc import Mapping, Sequence
from typing import Final

from quart import request
from werkzeug.datastructures import MultiDict

from hosts.web.view_state import RANGE_LABELS, ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView

_RANGE_IS_CHOSEN: Final = "chosen"
"""Parameter of an address whose range was chosen, even if it is the default of other pages."""

_DATE_LENGTH: Final = len("2026-01-01")
_PRESETS_OF_SHORT_FORMS: Final = {
    "7d": "last_7_days", "14d": "last_14_days", "28d": "last_28_days", "30d": "last_30_days",
    "90d": "last_90_days", "12mo": "last_12_months", "mtd": "this_month", "qtd": "this_quarter", "ytd": "this_year",
}  # fmt: skip


def read_view_state_of_saved_object(
    saved_range: Mapping[str, str],
    view: WorkspaceView,
    saved_filters: Sequence[Mapping[str, str]] = (),
    page_parameters: Sequence[str] = (),
) -> ViewState:
    """Returns the state of the page; an address that says nothing has range and filters of the object.

    Args:
        saved_range: ``default_range`` of a report, ``date_range`` of a dashboard or analysis.
        view: the workspace.
        saved_filters: of a dashboard.
        page_parameters: names of further parameters that the page's links keep.
    """
    arguments: MultiDict[str, str] = MultiDict(request.args)
    if _RANGE_IS_CHOSEN not in arguments:
        if not {"range", "from"} & arguments.keys():
            arguments.update(_arguments_of_range(saved_range))
        for saved_filter in saved_filters:
            arguments.add("f", f"{saved_filter['dimension']}:is:{saved_filter['value']}")
    arguments[_RANGE_IS_CHOSEN] = "1"
    arguments.poplist("segment")  # runs of saved objects accept none
    return read_view_state(
        arguments, view.workspace.zone, view.caller.now, (_RANGE_IS_CHOSEN, *page_parameters)
    )


def expand_short_preset(saved_range: Mapping[str, str]) -> dict[str, str]:
    """Returns a saved range with the long name of its preset, such as ``last_30_days`` for ``30d``."""
    preset = saved_range.get("preset")
    return {"preset": _PRESETS_OF_SHORT_FORMS.get(preset, preset)} if preset else dict(saved_range)


def describe_saved_range(saved_range: Mapping[str, str]) -> str:
    """Returns a saved range in words."""
    known = expand_short_preset(saved_range).get("preset")
    if known:
        return RANGE_LABELS.get(known, known.replace("_", " "))
    return f"{saved_range.get('from', '')[:_DATE_LENGTH]} to {saved_range.get('to', '')[:_DATE_LENGTH]}"


def _arguments_of_range(saved_range: Mapping[str, str]) -> dict[str, str]:
    preset = expand_short_preset(saved_range).get("preset")
    if preset:
        return {"range": preset}
    return {name: saved_range.get(name, "")[:_DATE_LENGTH] for name in ("from", "to")}
