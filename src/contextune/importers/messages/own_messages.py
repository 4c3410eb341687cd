"""The user's own messages in WhatsApp groups, whose exports do not tell which sender is the user."""

from collections.abc import Iterable
from dataclasses import replace

from contextune.importers.messages.message_log import own_name
from contextune.importers.reader import ImportContext
from contextune.types import Item


def is_in_group(item: Item) -> bool:
    """Whether an item is a message of a WhatsApp group."""
    return (
        item.app == "Messages" and bool(item.fields.get("chat")) and item.fields.get("service") == "WhatsApp"
    )


def as_known(item: Item, old: Item, context: ImportContext) -> Item:
    """A message that is read again, with the user as sender if an earlier import found that out."""
    sender = own_name(context)
    if not is_in_group(item) or old.fields.get("sender") != sender:
        return item
    return replace(item, fields={**item.fields, "sender": sender})


def with_own_name(items: Iterable[Item], context: ImportContext) -> list[Item]:
    """The messages under a name that the user has in chats with one person, with the user as sender."""
    return [
        replace(item, fields={**item.fields, "sender": own_name(context)})
        for item in items
        if item.fields.get("sender") in context.own_names
    ]
