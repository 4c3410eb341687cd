"""Which fields of an application are its title, text, times and people.

The applications in `APPS` have fixed fields; the bundled models were trained on them. Others are described by
alternatives of field names (`app_description`): common ones are bundled, `describe_app` adds your own, and
the rest is inferred.
"""

from collections.abc import Mapping
from functools import lru_cache

from contextune.errors import InvalidDataError
from contextune.types.app_description import ANY_APP, DESCRIBED_APPS, AppDescription, AppSchema
from contextune.types.field_names import all_names, snake_case

__all__ = [
    "APPS",
    "AppDescription",
    "AppSchema",
    "app_for",
    "describe_app",
    "described_apps",
    "description_of",
    "known_app",
]

APPS: Mapping[str, AppSchema] = {
    "Mail": AppSchema(
        noun="email",
        title="subject",
        text={"subject": "", "content": "", "author": "from", "recipients": "to", "folder": "folder"},
        made="date",
        times={"made": "date"},
        people=("author", "recipients"),
    ),
    "Calendar": AppSchema(
        noun="calendar event",
        title="event_name",
        text={
            "event_name": "",
            "notes": "",
            "location": "at",
            "organizer": "organizer",
            "participants": "with",
            "category": "category",
            "status": "status",
        },
        made=None,  # calendars store when an event takes place, not when it was entered
        times={"start": "start_time", "end": "end_time"},
        people=("organizer", "participants"),
    ),
    "Google": AppSchema(
        noun="web search", title="query", text={"query": ""}, made="date", times={"made": "date"}, people=()
    ),
    "Notes": AppSchema(
        noun="note",
        title="title",
        text={"title": "", "content": "", "folder": "folder"},
        made="modified",
        times={"made": "modified"},
        people=(),
    ),
    "Music": AppSchema(
        noun="song played",
        title="song_name",
        text={"song_name": "", "artist": "by", "album_title": "album", "playlist": "playlist"},
        made="played_time",
        times={"made": "played_time"},
        people=("artist",),
        verb="played",
    ),
    "Reminders": AppSchema(
        noun="reminder",
        title="title",
        text={"title": "", "list": "list", "status": "status"},
        made="created",
        times={"made": "created", "due": "due"},
        people=(),
    ),
    "PhoneCall": AppSchema(
        noun="phone call",
        title="contact",
        text={"contact": "", "direction": "", "number": "number"},
        made="date",
        times={"made": "date"},
        people=("contact", "number"),
        verb="called",
    ),
}

_OTHER_NAMES = {
    "Mail": "mails email emails e_mail e_mails gmail outlook_mail outlook_email apple_mail yahoo_mail",
    "Calendar": "calendars calendar_event calendar_events calendar_app google_calendar outlook_calendar "
    "apple_calendar i_cal",
    "Google": "web_search web_searches google_search google_searches search_history",
    "Notes": "note apple_notes",
    "Music": "songs apple_music",
    "Reminders": "reminder apple_reminders",
    "PhoneCall": "phone_calls calls call_log call_history phone_log",
    "Messages": "message sms text_messages i_message i_messages imessage imessages",
    "Tasks": "task to_do to_dos todo todos to_do_list todo_list google_tasks microsoft_to_do",
    "Files": "file documents",
    "Photos": "photo pictures google_photos apple_photos",
    "Contacts": "contact address_book google_contacts apple_contacts",
}
_BY_KEY = {snake_case(app): app for app in (*APPS, *DESCRIBED_APPS)} | {
    name: app for app, names in _OTHER_NAMES.items() for name in names.split()
}
_descriptions: dict[str, AppDescription] = dict(DESCRIBED_APPS)


def describe_app(name: str, description: AppDescription) -> None:
    """Describe an application, for all items of this process; replaces an earlier description."""
    if name in APPS:
        raise InvalidDataError(
            f"the fields of {name!r} are fixed, since the bundled models read them: choose another name"
        )
    _descriptions[name] = description


def described_apps() -> Mapping[str, AppDescription]:
    """The applications that are described in this process."""
    return _descriptions


def known_app(name: str) -> str:
    """The application in `APPS` or `DESCRIBED_APPS` that a name stands for, such as Mail for "email".

    The name itself if there is none, or if it has been described.
    """
    return name if name in _descriptions else _BY_KEY.get(snake_case(name), name)


def description_of(name: str) -> AppDescription:
    """The description of an application that is not in `APPS`; that of any application if it has none.

    "email" is read like Mail, but its fields are not fixed: a time that cannot be read is text.
    """
    app = known_app(name)
    return _without_fixed_fields(app) if app in APPS else _descriptions.get(app, ANY_APP)


@lru_cache(maxsize=16)
def _without_fixed_fields(app: str) -> AppDescription:
    schema = APPS[app]
    times = {role: all_names(app, field) for role, field in schema.times.items()}
    return AppDescription(
        schema.noun,
        titles=all_names(app, schema.title),
        made=times.get("made", ()),
        starts=times.get("start", ()),
        ends=times.get("end", ()),
        due=times.get("due", ()),
        people=[name for field in schema.people for name in all_names(app, field)],
        verb=schema.verb,
        labels={name: label for field, label in schema.text.items() for name in all_names(app, field)},
        infers_times=True,
    )


def app_for(name: str, fields: Mapping[str, object]) -> AppSchema:
    """The schema of a known application, else one that follows from its description and the item's fields."""
    return APPS[name] if name in APPS else description_of(name).schema(name, fields)
