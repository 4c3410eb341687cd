"""The tables of a catalogue's file."""

from contextune.store.migrations import Kind

SHELF = Kind(
    "catalogue",
    0x43545453,  # "CTTS"
    (
        (
            "CREATE TABLE sources (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            # `place` is the order tools came in, which a tool keeps when it changes
            """CREATE TABLE tools (
                place INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                app TEXT NOT NULL,
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                body TEXT NOT NULL
            )""",
            "CREATE INDEX tools_of_source ON tools (source)",
            # as in a store, a vector is too long for a page of a table without rowid
            """CREATE TABLE vectors (
                digest BLOB NOT NULL,
                model TEXT NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (digest, model)
            )""",
        ),
    ),
)
