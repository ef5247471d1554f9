"""`POST /shopify/economics/cost-imports/...`: what goods cost, checked and then kept (contract 12)."""

from service_core.access.models import Caller
from service_core.commerce.costs.import_schemas import ApplyCostImport, CostImport
from service_core.commerce.costs.ports import ItemCostStore
from service_core.commerce.costs.schemas import CostImportCheck, CostImportResult, RejectedRow
from service_core.commerce.costs.validate_import import validate_cost_rows
from service_core.kernel.errors import ApiError, Conflict, Unprocessable
from service_core.kernel.operations import ANY_SCOPE, CredentialRequirement, operation

_ROUTE = "POST /shopify/economics/cost-imports"


def _add_reason(refusal: ApiError) -> ApiError:
    """Every error says its code as its reason, too."""
    if refusal.code is not None:
        refusal.extra = {"reason": refusal.code, **refusal.extra}
    return refusal


@operation(
    f"{_ROUTE}/validate",
    scope=ANY_SCOPE,
    tag="marketing",
    credential=CredentialRequirement.INTERNAL,
    map_error=_add_reason,
)
async def validate_cost_import(body: CostImport, *, caller: Caller) -> CostImportCheck:
    """Check an import of what items cost, row by row, and change nothing.

    Internal: it takes the token of the deployment beside a key.
    """
    found = validate_cost_rows(body, caller.workspace)
    accepted, rejected = len(found.costs), len(found.errors)
    return CostImportCheck(
        valid=not rejected,
        row_count=accepted + rejected,
        accepted=accepted,
        rejected=rejected,
        errors=[RejectedRow(row=row, reason=reason) for row, reason in found.errors],
        import_hash=found.hash,
    )


@operation(
    f"{_ROUTE}/apply",
    scope=ANY_SCOPE,
    tag="marketing",
    credential=CredentialRequirement.INTERNAL,
    errors=(409, 422),
    map_error=_add_reason,
    starts_background_work=True,
)
async def apply_cost_import(
    body: ApplyCostImport, *, caller: Caller, store: ItemCostStore
) -> CostImportResult:
    """Keep the costs of an import that was checked, all of them at once.

    A cost replaces what the same item cost from the same day on, so an import may be applied again.
    Internal: it takes the token of the deployment beside a key.
    """
    found = validate_cost_rows(body, caller.workspace)
    if body.import_hash != found.hash:
        raise Conflict("This is not the import that was checked", "import_changed", field="import_hash")
    if found.errors:
        raise Unprocessable("Rows of the import are rejected", "rows_rejected", hint="Check it to see which.")
    await store.save_costs(caller.workspace.id, found.import_id, found.costs, caller.now)
    return CostImportResult(applied=True, import_id=found.import_id, rows_applied=len(found.costs))


OPERATIONS = (validate_cost_import, apply_cost_import)
