"""What agents used, as a report tells it. Pure."""

from sow.reports.costs import cost_sum
from sow.schema.output.costs import CostSum
from sow.schema.spending import Used


def used_or_none(used: Used | None) -> CostSum | None:
    """Return what agents used; None where none ran."""
    return cost_sum(used) if used is not None and used.runs else None
