"""Finds the operations of writes for change sets."""

from collections.abc import Callable

from service_core.api.routes import Routes
from service_core.changes.batched_writes import MatchedWrite


def create_write_finder(routes: Routes) -> Callable[[str, str], MatchedWrite | None]:
    """Returns the function that finds the operation of a method and path; None if there is none."""

    def find_write(method: str, path: str) -> MatchedWrite | None:
        match = routes.match_route_head_as_get(method, path)
        bound = match.bound_operation
        if bound is None:
            return None
        return MatchedWrite(bound.operation, bound.dependencies, bound.caller_parameter, match.path_values)

    return find_write
