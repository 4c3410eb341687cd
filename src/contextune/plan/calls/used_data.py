"""What of the user's data a call uses: the items its arguments come from, and the contacts it reaches."""

from contextune.plan.planning_input import PlanningInput
from contextune.types import Item, Plan


def used_ids(plan: Plan) -> set[str | None]:
    """The ids of the items that arguments come from; one of which only a time was taken does not count."""
    return {
        source.item
        for argument in plan.arguments.values()
        for source in argument.sources
        if source.kind == "item"
    }


def used_items(plan: Plan, inputs: PlanningInput) -> list[Item]:
    """The items of `used_ids`."""
    ids = used_ids(plan)
    return [item for item in inputs.items if item.id in ids]


def reached_people(plan: Plan, inputs: PlanningInput) -> set[int]:
    """The contacts, by their indexes, that are values of arguments."""
    return {n for value in plan.args.values() if (n := inputs.people.index(value)) is not None}
