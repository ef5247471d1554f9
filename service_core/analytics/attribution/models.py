"""Attribution settings of requests and workspaces, and the registry of installed models."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Workspace
from service_core.analytics.attribution.ports import AttributionModel
from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel
from service_core.kernel.unique_index import index_unique_or_startup_error

DEFAULT_MODEL: Final = "last_non_direct"
DEFAULT_WINDOW_DAYS: Final = 30
"""Attribution window of a workspace that has not set one, in days."""

WindowDays = Annotated[int, Clamp(1, 365)]
"""Days before a conversion in which a touch counts."""


class AttributionSettings(ResponseModel):
    """The attribution model and window of a query."""

    model: str = Field(DEFAULT_MODEL, description="Id of an installed attribution model.")
    window_days: int = Field(
        DEFAULT_WINDOW_DAYS, description="Days before the conversion in which a touch counts."
    )

    @classmethod
    def workspace_default(cls, workspace: Workspace) -> "AttributionSettings":
        """Returns the default of a workspace."""
        rules = workspace.rules
        return cls(model=rules.model or DEFAULT_MODEL, window_days=rules.window_days or DEFAULT_WINDOW_DAYS)

    @property
    def window(self) -> timedelta:
        """The window as elapsed time: days of 86,400 seconds."""
        return timedelta(days=self.window_days)


class AttributionRequest(BodyModel):
    """The attribution object of requests; omitted fields take the default of the workspace."""

    model: str | None = Field(default=None, description="Id of an installed attribution model.")
    window_days: WindowDays | None = Field(
        default=None, description="Days before the conversion in which a touch counts."
    )

    def with_workspace_defaults(self, workspace: Workspace) -> AttributionSettings:
        """Returns the settings for a workspace."""
        default = AttributionSettings.workspace_default(workspace)
        return AttributionSettings(
            model=self.model or default.model,
            window_days=default.window_days if self.window_days is None else self.window_days,
        )


@dataclass(frozen=True, slots=True)
class AttributionModels:
    """The installed attribution models.

    Attributes:
        by_id: models by id, in the order of their registration.
        min_conversions: conversions, and paths without one, that a data-driven model needs.
    """

    by_id: Mapping[str, AttributionModel] = field(default_factory=dict)
    min_conversions: int = 300

    @classmethod
    def index_by_unique_id(cls, models: Iterable[AttributionModel]) -> "AttributionModels":
        """Returns the registry of the given models.

        Raises:
            StartupError: two models have the same id.
        """
        return cls(
            index_unique_or_startup_error(models, lambda m: m.id, lambda m: f"the attribution model {m.id!r}")
        )

    def require_installed(self, model_id: str, error_field: str = "model") -> AttributionModel:
        """Returns the model with this id; ``field`` is the request field that names it.

        Raises:
            BadRequest: ``invalid_attribution``, if it is not installed.
        """
        model = self.by_id.get(model_id)
        if model is None:
            raise BadRequest(
                f"Unknown attribution model {model_id!r}",
                "invalid_attribution",
                field=error_field,
                hint=f"Installed: {', '.join(self.by_id) or 'none'}.",
            )
        return model
