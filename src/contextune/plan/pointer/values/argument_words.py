"""Words in the names of arguments that tell what kind of value they take."""

NUMBERS = frozenset(["number", "phone", "tel", "telephone", "dial", "mobile"])
LANGUAGE_ARGUMENTS = frozenset(["language", "lang", "locale"])
PLACES = frozenset(
    [
        *("location", "destination", "place", "near", "where", "city", "area", "venue"),
        *("business", "shop", "store", "restaurant"),
    ]
)
BUSINESSES = PLACES & {"business", "shop", "store", "restaurant"}
SAID_PLACES = frozenset(["location", "destination", "near", "city", "area"])
ADDRESSES = frozenset(["address", "email", "mail", "recipient", "recipients"])
TITLES = frozenset(["song", "track", "album", "record"])
ARTISTS = frozenset(["artist", "band", "singer", "performer"])
PEOPLE = frozenset(["contact", "person", "recipient", "participant", "attendee", "guest", "caller", "who"])
SENDERS = frozenset(["sender", "from", "author"])
