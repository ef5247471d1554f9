"""Each setting of a workspace with its type, title, description, and what a change of it does."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from service_core.access.text_types import SingleLineName
from service_core.access.write_policy import ApprovedChanges, ProgramKind
from service_core.kernel.money import ISO_4217_CODES
from service_core.kernel.operations import Scope
from service_core.kernel.schemas import BodyModel

MAX_APPROVAL_RULES: Final = 8
"""One for each kind of program and scope."""


@dataclass(frozen=True, slots=True)
class ChangeEffect:
    """What a change of a setting does, as a sentence for people."""

    summary: str


class ChannelRule(BodyModel):
    """A channel of the workspace. A visit belongs to it if all its conditions match; `*` matches any characters."""

    id: str = Field(description="Starts with `custom:`.")
    source: str | None = None
    medium: str | None = None
    campaign: str | None = None


class PaymentFee(BodyModel):
    """What a payment costs where its provider does not report it."""

    provider: str = Field(description="Id of a provider, or `tracked`.")
    percent: float = Field(description="Of what was paid, tax and shipping included.")
    fixed: float = Field(0.0, description="Of each payment, in major units of `currency`.")
    currency: Annotated[str, AfterValidator(str.upper)] | None = Field(
        None, description="Payments it applies to; null for any."
    )


class ApprovalRequirement(BodyModel):
    """Writes of programs that a person has to approve."""

    credential: ProgramKind = Field(
        description="`key` for API keys, `oauth` for connected apps and assistants."
    )
    scope: Literal[Scope.WRITE_RULES, Scope.WRITE_LINKS, Scope.WRITE_REPORTS, Scope.PROPOSE_SCRIPTS] = Field(
        description="The scope that the write needs."
    )
    changes: ApprovedChanges = Field(
        ApprovedChanges.ALL, description="`not_reversible`: only those that cannot be taken back completely."
    )


def _require_iso_currency(code: str) -> str:
    if code.upper() not in ISO_4217_CODES:
        raise ValueError("must be a currency code of ISO 4217, such as EUR")
    return code.upper()


WorkspaceName = Annotated[
    SingleLineName, Field(title="Name", description="Shown to members and on public pages.")
]
Site = Annotated[
    str | None,
    Field(title="Site", description="Host name of the main site, such as shop.example; null for none."),
]
TimeZone = Annotated[
    str,
    Field(title="Time zone", description="IANA name, such as Europe/Berlin, of the days of the workspace."),
    ChangeEffect("Days, weeks and charts follow the new time zone, in all history."),
]
Currency = Annotated[
    str,
    AfterValidator(_require_iso_currency),
    Field(title="Currency", description="ISO 4217 code of the currency of totals."),
    ChangeEffect(
        "Totals are converted to the new currency, in all history. New events that name no currency count in it."
    ),
]
Conversions = Annotated[
    tuple[str, ...] | None,
    Field(title="Goals", description="Events that convert, instead of the built-in ones; null for those."),
    ChangeEffect("Conversions are recalculated, in all history."),
]
AnyRevenue = Annotated[
    bool,
    Field(
        title="Treat amounts of custom events as revenue",
        description="Whether the amount of a custom event is revenue and makes it a conversion.",
    ),
    ChangeEffect("Revenue and conversions are recalculated, in all history."),
]
RevenueEvents = Annotated[
    tuple[str, ...],
    Field(title="Revenue events", description="Events whose amount is revenue, each one an order."),
    ChangeEffect("Revenue and orders are recalculated, in all history."),
]
Channels = Annotated[
    tuple[ChannelRule, ...],
    Field(title="Custom channels", description="Tested in this order before the built-in channels."),
    ChangeEffect("Channels apply to new events. Stored events keep theirs until they are enriched again."),
]
DefaultModel = Annotated[
    str | None,
    Field(
        title="Attribution model",
        description="Id of the model for reads that name none; null for the built-in default.",
    ),
    ChangeEffect("Reads that name no attribution model use the new one, in all history."),
]
WindowDays = Annotated[
    int | None,
    Field(
        title="Attribution window",
        description="Days before a conversion in which a touch counts; null for the built-in default.",
    ),
    ChangeEffect("Reads that name no attribution window use the new one, in all history."),
]
EventRetentionDays = Annotated[
    int | None,
    Field(
        title="Delete events after",
        description="Days after which events are deleted; null keeps them without limit.",
    ),
    ChangeEffect("Older events are deleted within a day. An undo does not bring them back."),
]
Fees = Annotated[
    tuple[PaymentFee, ...],
    Field(title="Payment fees", description="The first rate that fits a payment counts."),
    ChangeEffect("Profit is recalculated, in all history."),
]


WriteApprovals = Annotated[
    tuple[ApprovalRequirement, ...],
    Field(
        max_length=MAX_APPROVAL_RULES,
        title="Approval of writes",
        description="Writes of programs that a person has to approve. A program cannot remove one.",
    ),
    ChangeEffect("Writes of these programs wait for the approval of a person."),
]
PlanTokens = Annotated[
    tuple[ProgramKind, ...],
    Field(
        max_length=len(ProgramKind),
        title="Plans before writes",
        description="Programs that have to plan each write and apply it with the token of the plan.",
    ),
    ChangeEffect("Writes of these programs need the token of a plan."),
]


class SettingFields(BaseModel):
    """The settings of a workspace."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: WorkspaceName
    domain: Site
    timezone: TimeZone
    currency: Currency
    conversions: Conversions
    any_revenue: AnyRevenue
    revenue_events: RevenueEvents
    channels: Channels
    model: DefaultModel
    window_days: WindowDays
    event_retention_days: EventRetentionDays
    fees: Fees
    write_approvals: WriteApprovals
    plan_tokens: PlanTokens


SETTING_NAMES = tuple(SettingFields.model_fields)
"""Names of all settings, in the order of the form."""


def change_effect(setting_name: str) -> str | None:
    """Returns what a change of a setting does, as a sentence; None if it affects nothing else."""
    metadata = get_type_hints(SettingFields, include_extras=True)[setting_name].__metadata__
    return next((entry.summary for entry in metadata if isinstance(entry, ChangeEffect)), None)
