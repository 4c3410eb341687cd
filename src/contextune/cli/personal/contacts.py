"""`contextune contact`: list, add and remove the user's contacts."""

from dataclasses import replace
from typing import Annotated

import typer

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.imports.run import put_user
from contextune.cli.options import StoreName, UserName, open_store, resolve_user
from contextune.cli.output import plain_table
from contextune.errors import InvalidRequestError

app = command_group(help="List, add and remove your contacts.")

ContactName = Annotated[str, typer.Argument(help="The full name.", metavar="NAME")]


@app.command(name="list")
def list_contacts(
    words: Annotated[list[str] | None, typer.Argument(help="Only contacts with these words.")] = None,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Print the contacts: name, relation, address and number."""
    with open_store(store) as opened:
        contacts = opened.user(resolve_user(opened, user)).contacts
    rows = [
        (contact.name, contact.relation or "", contact.email or "", contact.phone or "")
        for contact in sorted(contacts, key=lambda contact: contact.name.casefold())
    ]
    wanted = [word.casefold() for word in words or ()]
    shown = [row for row in rows if all(word in " ".join(row).casefold() for word in wanted)]
    output.out.print(plain_table(("name", "relation", "address", "number"), shown))
    output.out.print(f"{pluralize(len(shown), 'contact')} of {len(rows):,}.", highlight=False)


@app.command()
def add(
    name: ContactName,
    email: Annotated[str | None, typer.Option("--email", help="The mail address.")] = None,
    phone: Annotated[str | None, typer.Option("--phone", help="The phone number.")] = None,
    relation: Annotated[
        str | None, typer.Option("--relation", help="Who this is to you, as brother or dentist.")
    ] = None,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Add a contact, or change the fields given of the one with this name."""
    from contextune.types import Contact

    if not name.strip():
        raise InvalidRequestError("a contact needs a name: contextune contact add NAME")
    given = {"email": email, "phone": phone, "relation": relation}
    changes = {key: value for key, value in given.items() if value is not None}
    with open_store(store, create=True) as opened:
        owner = opened.user(put_user(opened, user, None, None, None))
        same = [contact for contact in owner.contacts if contact.name.casefold() == name.casefold()]
        if len(same) > 1:
            raise InvalidRequestError(f"there are {len(same)} contacts of this name: remove them first")
        others = tuple(contact for contact in owner.contacts if contact not in same)
        changed = replace(same[0] if same else Contact(name), **changes)
        opened.put_user(replace(owner, contacts=(*others, changed)))
    output.out.print(f"{name} is {'changed' if same else 'added'}.", markup=False, highlight=False)


@app.command()
def remove(name: ContactName, user: UserName = None, store: StoreName = None) -> None:
    """Remove the contacts with this name."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        others = tuple(contact for contact in owner.contacts if contact.name.casefold() != name.casefold())
        if len(others) == len(owner.contacts):
            raise InvalidRequestError(f"there is no contact {name!r}: contextune contact list shows all")
        opened.put_user(replace(owner, contacts=others))
    count = pluralize(len(owner.contacts) - len(others), "contact")
    output.out.print(f"{count} removed; importing the address book again brings them back.", highlight=False)
