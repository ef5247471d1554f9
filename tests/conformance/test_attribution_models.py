"""Every built-in attribution model passes its kit."""

import pytest

from plugins import attribution_models
from service_core.testing.attribution_model import AttributionModelConformance


class TestBuiltInModels(AttributionModelConformance):
    @pytest.fixture(params=attribution_models.attribution_models(), ids=lambda model: model.id)
    def model(self, request):
        return request.param
