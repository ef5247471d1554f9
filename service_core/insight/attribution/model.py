"""Which model, over which window: what a request says, and the models installed to answer it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field

from service_core.insight.attribution.ports import AttributionModel
from service_core.kernel.errors import BadRequest, StartupError
from service_core.kernel.params import BodyModel, Clamp

DEFAULT_MODEL: Final = "last_non_direct"
DEFAULT_WINDOW: Final = 30
"""Days (contract 2.10)."""

WindowDays = Annotated[int, Clamp(1, 365)]
"""Days before a conversion in which a touch counts."""


class Attribution(BodyModel):
    """The attribution object of requests and answers (contract 2.10); the default is the workspace's."""

    model: str = Field(DEFAULT_MODEL, description="Id of an installed attribution model.")
    window_days: WindowDays = Field(
        DEFAULT_WINDOW, description="Days before the conversion in which a touch counts."
    )

    @property
    def window(self) -> timedelta:
        """The window in elapsed time: days of 86,400 seconds (semantics 8.3)."""
        return timedelta(days=self.window_days)


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
        found: dict[str, AttributionModel] = {}
        for model in models:
            if model.id in found:
                raise StartupError(
                    f"Two plugins bring the attribution model {model.id!r}. Uninstall one of them."
                )
            found[model.id] = model
        return cls(MappingProxyType(found))

    def named(self, name: str) -> AttributionModel:
        """The model with this id.

        Raises:
            BadRequest: ``invalid_attribution``, when it is not installed.
        """
        model = self.by_id.get(name)
        if model is None:
            raise BadRequest(
                f"Unknown attribution model {name!r}",
                "invalid_attribution",
                field="model",
                hint=f"Installed: {', '.join(self.by_id) or 'none'}.",
            )
        return model
