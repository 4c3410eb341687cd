"""`contextune place`: list, add and remove the user's places."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.imports.run import put_user
from contextune.cli.options import StoreName, UserName, open_store, resolve_user
from contextune.cli.output import plain_table
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.types import PlaceLocation

app = command_group(help="List, add and remove your places: home, work, the gym.")

PlaceName = Annotated[str, typer.Argument(help="The name, as home or gym.", metavar="NAME")]


@app.command(name="list")
def list_places(user: UserName = None, store: StoreName = None) -> None:
    """Print the places with their coordinates or address and the number of items and uses there."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        items, uses = opened.items(owner.id), opened.uses(owner.id)
    rows = [
        (
            name,
            _format_location(location),
            f"{sum(item.place == name for item in items):,}",
            f"{sum(use.place == name for use in uses):,}",
        )
        for name, location in sorted(owner.places.items())
    ]
    if not rows:
        output.out.print("No places yet: contextune place add home 41.15,-8.63", highlight=False)
        return
    output.out.print(plain_table(("place", "where", "items", "uses"), rows))


@app.command(context_settings={"ignore_unknown_options": True})  # -33.4,-70.6 is no option
def add(
    name: PlaceName,
    where: Annotated[
        str, typer.Argument(help="Latitude and longitude, as 41.15,-8.63, or an address.", metavar="WHERE")
    ],
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Add a place, or move it.

    Distances are computed between coordinates only: with an address, a place counts where it is named.
    """
    from contextune.types import NAMELESS, parse_place

    place = parse_place(where)
    if isinstance(place, str) and not any(map(str.isalpha, place)):
        raise InvalidRequestError(f"not a place: {where!r} (write it as 41.15,-8.63, or as 4 Mill Lane)")
    if not name.strip() or name in NAMELESS:
        raise InvalidRequestError(f"{name!r} cannot be the name of a place: choose another")
    with open_store(store, create=True) as opened:
        owner = opened.user(put_user(opened, user, None, None, None))
        opened.put_user(replace(owner, places={**owner.places, name: place}))
    moved = "is moved to" if name in owner.places else "is at"
    output.out.print(f"{name} {moved} {_format_location(place)}.", markup=False, highlight=False)


def _format_location(location: "PlaceLocation") -> str:
    return neutralize(location) if isinstance(location, str) else f"{location[0]:g},{location[1]:g}"


@app.command()
def remove(name: PlaceName, user: UserName = None, store: StoreName = None) -> None:
    """Remove a place; items and uses there keep its name."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        if name not in owner.places:
            names = ", ".join(sorted(owner.places)) or "none yet"
            raise InvalidRequestError(f"there is no place {name!r} (places: {neutralize(names)})")
        rest = {key: place for key, place in owner.places.items() if key != name}
        opened.put_user(replace(owner, places=rest))
    output.out.print(f"{name} is removed; {pluralize(len(rest), 'place')} left.", markup=False)
