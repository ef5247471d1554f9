"""Routes that hosts serve without an `Operation`, described for the OpenAPI document."""

from typing import Final

from service_core.api.host_routes.imports import IMPORT_ROUTES
from service_core.api.host_routes.ingest import INGEST_ROUTES
from service_core.api.host_routes.links import LINK_ROUTES
from service_core.api.host_routes.oauth import OAUTH_ROUTES

HOST_ROUTES: Final = (INGEST_ROUTES, LINK_ROUTES, OAUTH_ROUTES, IMPORT_ROUTES)
"""All of them."""
