"""Which model, over which window: what a request says, and the models installed to answer it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from service_core.access.model import Workspace
from service_core.insight.attribution.ports import AttributionModel
from service_core.kernel.errors import BadRequest
from service_core.kernel.params import Answer, BodyModel, Clamp
from service_core.kernel.unique import unique

DEFAULT_MODEL: Final = "last_non_direct"
DEFAULT_WINDOW: Final = 30
"""Days (contract 2.10)."""

WindowDays = Annotated[int, Clamp(1, 365)]
"""Days before a conversion in which a touch counts."""


class Attribution(Answer):
    """The attribution that runs (contract 2.10)."""

    model: str = Field(DEFAULT_MODEL, description="Id of an installed attribution model.")
    window_days: int = Field(
        DEFAULT_WINDOW, description="Days before the conversion in which a touch counts."
    )

    @classmethod
    def usual(cls, workspace: Workspace) -> "Attribution":
        """The workspace's default."""
        rules = workspace.rules
        return cls(model=rules.model or DEFAULT_MODEL, window_days=rules.window_days or DEFAULT_WINDOW)

    @property
    def window(self) -> timedelta:
        """The window in elapsed time: days of 86,400 seconds (semantics 8.3)."""
        return timedelta(days=self.window_days)


class AskedAttribution(BodyModel):
    """The attribution object of requests; what it leaves out is the workspace's default."""

    model: str | None = Field(default=None, description="Id of an installed attribution model.")
    window_days: WindowDays | None = Field(
        default=None, description="Days before the conversion in which a touch counts."
    )

    def of(self, workspace: Workspace) -> Attribution:
        """What runs for a workspace."""
        usual = Attribution.usual(workspace)
        return Attribution(
            model=self.model or usual.model,
            window_days=usual.window_days if self.window_days is None else self.window_days,
        )


@dataclass(frozen=True, slots=True)
class Models:
    """The installed attribution models.

    Attributes:
        by_id: in the order of their declaration.
        floor: conversions, and paths without one, that a data-driven model needs.
    """

    by_id: Mapping[str, AttributionModel] = field(default_factory=dict)
    floor: int = 300

    @classmethod
    def of(cls, models: Iterable[AttributionModel]) -> "Models":
        """Check and freeze.

        Raises:
            StartupError: two models of one id.
        """
        return cls(unique(models, lambda m: m.id, lambda m: f"the attribution model {m.id!r}"))

    def named(self, name: str, field: str = "model") -> AttributionModel:
        """The model with this id; ``field`` is where a request names it.

        Raises:
            BadRequest: ``invalid_attribution``, when it is not installed.
        """
        model = self.by_id.get(name)
        if model is None:
            raise BadRequest(
                f"Unknown attribution model {name!r}",
                "invalid_attribution",
                field=field,
                hint=f"Installed: {', '.join(self.by_id) or 'none'}.",
            )
        return model
