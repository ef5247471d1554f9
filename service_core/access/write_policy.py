"""What a workspace demands before a program writes: the approval of a person, or the token of a plan."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from service_core.kernel.operations import Scope


class ProgramKind(StrEnum):
    """How a program that writes is let in."""

    KEY = "key"
    OAUTH = "oauth"


class ApprovedChanges(StrEnum):
    """Which changes need the approval of a person."""

    ALL = "all"
    NOT_REVERSIBLE = "not_reversible"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Writes that a person has to approve.

    Attributes:
        credential: of programs with this kind of credential.
        scope: that the write needs.
        changes: all of them, or those that cannot be taken back completely.
    """

    credential: ProgramKind
    scope: Scope
    changes: ApprovedChanges = ApprovedChanges.ALL

    def covers(self, other: "ApprovalRule") -> bool:
        """Returns whether each write that the other rule holds back is held back by this one, too."""
        is_wider = self.changes in (ApprovedChanges.ALL, other.changes)
        return (self.credential, self.scope) == (other.credential, other.scope) and is_wider


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """What programs need before they write; by default nothing.

    Attributes:
        approvals: writes that a person has to approve.
        plan_tokens: programs whose writes have to be planned first, and applied with the token of the plan.
    """

    approvals: tuple[ApprovalRule, ...] = ()
    plan_tokens: frozenset[ProgramKind] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Returns the policy as JSON values."""
        return {
            "approvals": [asdict(rule) for rule in self.approvals],
            "plan_tokens": sorted(self.plan_tokens),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "WritePolicy":
        """Returns the policy of JSON values."""
        return cls(
            tuple(
                ApprovalRule(
                    ProgramKind(rule["credential"]), Scope(rule["scope"]), ApprovedChanges(rule["changes"])
                )
                for rule in stored["approvals"]
            ),
            frozenset(map(ProgramKind, stored["plan_tokens"])),
        )

    def needs_approval(self, kind: ProgramKind, changes: Iterable[tuple[Scope, bool]]) -> bool:
        """Returns whether a person has to approve changes.

        Args:
            kind: of the program.
            changes: the scope of each, and whether it can be taken back completely.
        """
        made = list(changes)
        return any(
            rule.credential is kind
            and rule.scope is scope
            and (rule.changes is ApprovedChanges.ALL or not is_reversible)
            for rule in self.approvals
            for scope, is_reversible in made
        )

    def is_at_least_as_strict_as(self, other: "WritePolicy") -> bool:
        """Returns whether this policy holds back everything that the other one does."""
        return self.plan_tokens >= other.plan_tokens and all(
            any(own.covers(rule) for own in self.approvals) for rule in other.approvals
        )
