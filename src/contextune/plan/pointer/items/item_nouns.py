"""What an item of each application is called: "mails" are of Mail."""

from contextune.plan.policy.cost import singular

_NOUNS = {
    **dict.fromkeys(["mail", "email", "message", "newsletter"], "Mail"),
    **dict.fromkeys(["event", "appointment", "meeting"], "Calendar"),
    **dict.fromkeys(["note"], "Notes"),
    **dict.fromkeys(["reminder", "task", "todo"], "Reminders"),
    **dict.fromkeys(["call"], "PhoneCall"),
    **dict.fromkeys(["song", "track"], "Music"),
}

ITEM_NOUN = "(?:" + "|".join([*_NOUNS, "e-mail"]) + ")s?"
"""One of these nouns, as a regular expression."""


def item_app(noun: str) -> str | None:
    """The application whose items a noun stands for, if any: "mails" are of Mail."""
    return _NOUNS.get(singular(noun.casefold().replace("e-mail", "email")))
