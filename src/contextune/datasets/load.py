"""Puts what a source holds into a store."""

from contextune.datasets.habits import uses
from contextune.datasets.persona import Persona
from contextune.store import Store


def load_persona(store: Store, persona: Persona) -> None:
    """The persona's user, items and dated uses. Loading it again changes nothing."""
    store.put_user(persona.user)
    store.put_items(persona.id, persona.items)
    store.put_uses(persona.id, uses(persona))
