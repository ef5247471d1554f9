"""`POST /shopify/economics/cost-imports/...`: what goods cost, checked and then kept (contract 12)."""

from service_core.access.model import Caller
from service_core.commerce.costs.answer import CostCheck, CostsApplied, RowError
from service_core.commerce.costs.asked import ApplyCostImport, CostImport
from service_core.commerce.costs.checking import checked
from service_core.commerce.costs.ports import CostStore
from service_core.kernel.errors import Conflict, Refusal, Unprocessable
from service_core.kernel.operations import ANY_SCOPE, Entry, operation

_ROUTE = "POST /shopify/economics/cost-imports"


def _reasoned(refusal: Refusal) -> Refusal:
    """Every error says its code as its reason, too."""
    if refusal.code is not None:
        refusal.extra = {"reason": refusal.code, **refusal.extra}
    return refusal


@operation(f"{_ROUTE}/validate", scope=ANY_SCOPE, tag="marketing", entry=Entry.INTERNAL, reshape=_reasoned)
async def validate_cost_import(body: CostImport, *, who: Caller) -> CostCheck:
    """Check an import of what items cost, row by row, and change nothing.

    Internal: it takes the token of the deployment beside a key.
    """
    found = checked(body, who.workspace)
    accepted, rejected = len(found.costs), len(found.errors)
    return CostCheck(
        valid=not rejected,
        row_count=accepted + rejected,
        accepted=accepted,
        rejected=rejected,
        errors=[RowError(row=row, reason=reason) for row, reason in found.errors],
        import_hash=found.hash,
    )


@operation(
    f"{_ROUTE}/apply",
    scope=ANY_SCOPE,
    tag="marketing",
    entry=Entry.INTERNAL,
    errors=(409, 422),
    reshape=_reasoned,
    starts_work=True,
)
async def apply_cost_import(body: ApplyCostImport, *, who: Caller, store: CostStore) -> CostsApplied:
    """Keep the costs of an import that was checked, all of them at once.

    A cost replaces what the same item cost from the same day on, so an import may be applied again.
    Internal: it takes the token of the deployment beside a key.
    """
    found = checked(body, who.workspace)
    if body.import_hash != found.hash:
        raise Conflict("This is not the import that was checked", "import_changed", field="import_hash")
    if found.errors:
        raise Unprocessable("Rows of the import are rejected", "rows_rejected", hint="Check it to see which.")
    await store.keep_costs(who.workspace.id, found.import_id, found.costs, who.now)
    return CostsApplied(applied=True, import_id=found.import_id, rows_applied=len(found.costs))


OPERATIONS = (validate_cost_import, apply_cost_import)
