"""Endpoints that validate and apply imports of item costs, below the path of a storefront."""

from dataclasses import replace
from typing import Final

from service_core.access.models import Caller
from service_core.commerce.costs.import_schemas import ApplyCostImport, CostImport
from service_core.commerce.costs.ports import ItemCostStore
from service_core.commerce.costs.schemas import CostImportCheck, CostImportResult, RejectedRow
from service_core.commerce.costs.validate_import import validate_cost_rows
from service_core.commerce.error_reasons import add_code_as_reason
from service_core.kernel.errors import Conflict, Unprocessable
from service_core.kernel.operations import ANY_SCOPE, CredentialRequirement, Operation, operation

_ROUTE: Final = "/economics/cost-imports"


@operation(
    f"POST {_ROUTE}/validate",
    scope=ANY_SCOPE,
    tag="marketing",
    credential=CredentialRequirement.INTERNAL,
    map_error=add_code_as_reason,
)
async def validate_cost_import(body: CostImport, *, caller: Caller) -> CostImportCheck:
    """Validates an import of item costs row by row and changes nothing.

    Internal: requires the token of the deployment and a key.
    """
    validated = validate_cost_rows(body, caller.workspace)
    accepted, rejected = len(validated.costs), len(validated.errors)
    return CostImportCheck(
        valid=not rejected,
        row_count=accepted + rejected,
        accepted=accepted,
        rejected=rejected,
        errors=[RejectedRow(row=row, reason=reason) for row, reason in validated.errors],
        import_hash=validated.hash,
    )


@operation(
    f"POST {_ROUTE}/apply",
    scope=ANY_SCOPE,
    tag="marketing",
    credential=CredentialRequirement.INTERNAL,
    errors=(409, 422),
    map_error=add_code_as_reason,
    starts_background_work=True,
)
async def apply_cost_import(
    body: ApplyCostImport, *, caller: Caller, store: ItemCostStore
) -> CostImportResult:
    """Applies a validated import of item costs in one transaction.

    A cost replaces that of the same item and day, so an import may be applied again.
    Internal: requires the token of the deployment and a key.
    """
    validated = validate_cost_rows(body, caller.workspace)
    if body.import_hash != validated.hash:
        raise Conflict("This is not the import that was checked", "import_changed", field="import_hash")
    if validated.errors:
        raise Unprocessable("Rows of the import are rejected", "rows_rejected", hint="Check it to see which.")
    await store.save_or_replace_costs(caller.workspace.id, validated.import_id, validated.costs, caller.now)
    return CostImportResult(applied=True, import_id=validated.import_id, rows_applied=len(validated.costs))


def cost_import_operations(storefront_id: str) -> tuple[Operation, ...]:
    """Returns the endpoints that import item costs, for the plugin of a storefront to register.

    Args:
        storefront_id: id of the storefront, which is the first segment of their paths.
    """
    declared = (validate_cost_import, apply_cost_import)
    return tuple(replace(endpoint, path=f"/{storefront_id}{endpoint.path}") for endpoint in declared)
