"""SQL schema of the PostgreSQL store: numbered migrations, partitions and row-level security.

All tables are in the schema `contextune`. A row is visible only in a transaction that has named its user, in
the settings `contextune.user` (the id) and `contextune.key`; a query that forgets to returns nothing.

The processes of a service also share tokens, rates and notifications. A trigger notifies the channel
`contextune` when the items of a user change or a user or token is deleted. Every role that may connect can
listen, so a user is named by a keyed digest, and nothing else of the user is sent.
"""

# statements are composed of the names below only

from collections.abc import Iterator

CHANNEL = "contextune"
"""Messages are `change DIGEST REVISION`, `forget DIGEST` and `token ID`."""
_LIST = "current_setting('contextune.list', true)"
_TOKEN = "current_setting('contextune.token', true)"  # noqa: S105  # a setting
PARTITIONS = 16
"""Of each large table, by a hash of the user's key."""
_PARTITIONED = ("items", "uses", "vectors", "portraits")
"""Names of the first migration; the fifth renames `portraits`."""
_TABLES = (*_PARTITIONED, "feedback", "tombstones")
ROLE = "contextune_store"
"""Role that superusers take on, since row-level security does not apply to them."""

_USER = "current_setting('contextune.user', true)"
_LISTING = "current_setting('contextune.list', true) = 'ids'"
_KEY = "(SELECT nullif(current_setting('contextune.key', true), '')::bigint)"


def service_tables() -> Iterator[str]:
    """The statements of the migration."""
    yield "CREATE TABLE secrets (name text PRIMARY KEY, value bytea NOT NULL)"
    random = "sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))"
    yield f"INSERT INTO secrets VALUES ('key', {random})"  # noqa: S608  # a fixed expression
    yield """CREATE TABLE tokens (
        id text COLLATE "C" PRIMARY KEY,
        owner text COLLATE "C" NOT NULL,
        digest text NOT NULL,
        made text NOT NULL
    )"""
    # Not logged: after a crash of the server all buckets are full again.
    yield """CREATE UNLOGGED TABLE rates (
        token text COLLATE "C" PRIMARY KEY REFERENCES tokens ON DELETE CASCADE,
        level double precision NOT NULL,
        taken double precision NOT NULL,
        time timestamptz NOT NULL
    ) WITH (fillfactor = 50)"""
    yield from _secure_service_tables()
    yield from _notify()


def copied_keys() -> Iterator[str]:
    """The migration that lets a copy of a store bring the key of its tokens; `key` itself never changes."""
    yield f"""CREATE POLICY add_secrets ON secrets FOR INSERT
        WITH CHECK ({_LIST} = 'secrets' AND name <> 'key')"""


def _secure_service_tables() -> Iterator[str]:
    for table in ("secrets", "tokens", "rates"):
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY read_secrets ON secrets FOR SELECT USING ({_LIST} = 'secrets')"
    yield f"CREATE POLICY own_token ON tokens USING (id = {_TOKEN})"
    yield f"CREATE POLICY list_tokens ON tokens FOR SELECT USING ({_LIST} = 'tokens')"
    yield f"CREATE POLICY own_rate ON rates USING (token = {_TOKEN})"


def _notify() -> Iterator[str]:
    # Recorded uses notify nobody: they are frequent, commits that notify wait for each other, and every
    # process checks the revision at the next request anyway.
    yield f"""CREATE FUNCTION notify_user() RETURNS trigger LANGUAGE plpgsql
        SET search_path = contextune AS $$
        DECLARE
            listed text := coalesce({_LIST}, '');
            digest text;
        BEGIN
            PERFORM set_config('contextune.list', 'secrets', true);
            SELECT left(encode(sha256(value || convert_to(OLD.id, 'UTF8')), 'hex'), 32) INTO digest
                FROM secrets WHERE name = 'key';
            PERFORM set_config('contextune.list', listed, true);
            IF TG_OP = 'DELETE' THEN
                PERFORM pg_notify('{CHANNEL}', 'forget ' || digest);
            ELSE
                PERFORM pg_notify('{CHANNEL}', 'change ' || digest || ' ' || NEW.revision);
            END IF;
            RETURN NULL;
        END $$"""  # noqa: S608  # a fixed name
    yield "CREATE TRIGGER notify_forget AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION notify_user()"
    yield """CREATE TRIGGER notify_change AFTER UPDATE OF revision ON users FOR EACH ROW
        WHEN (OLD.revision <> NEW.revision) EXECUTE FUNCTION notify_user()"""
    yield f"""CREATE FUNCTION notify_token() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('{CHANNEL}', 'token ' || OLD.id);
            RETURN NULL;
        END $$"""
    yield """CREATE TRIGGER notify_token AFTER DELETE ON tokens FOR EACH ROW
        EXECUTE FUNCTION notify_token()"""


def _create_tables() -> Iterator[str]:
    # One sequence for all users, so that a user who comes back after `forget` gets new revision numbers.
    yield "CREATE SEQUENCE revision"
    yield """CREATE TABLE users (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        profile text NOT NULL,
        places text NOT NULL,
        contacts text NOT NULL,
        zone text,
        revision bigint NOT NULL DEFAULT 0,
        uses_revision bigint NOT NULL DEFAULT 0,
        user_revision bigint NOT NULL DEFAULT 0,
        known_since bigint NOT NULL DEFAULT 0,
        items bigint NOT NULL DEFAULT 0,
        uses bigint NOT NULL DEFAULT 0,
        feedback bigint NOT NULL DEFAULT 0,
        item_bytes bigint NOT NULL DEFAULT 0,
        use_bytes bigint NOT NULL DEFAULT 0,
        feedback_bytes bigint NOT NULL DEFAULT 0
    )"""
    owner = "owner bigint NOT NULL REFERENCES users ON DELETE CASCADE"
    yield f"""CREATE TABLE items (
        {owner},
        id text COLLATE "C" NOT NULL,
        app text COLLATE "C" NOT NULL,
        fields text NOT NULL,
        revision bigint NOT NULL,
        PRIMARY KEY (owner, id)
    ) PARTITION BY HASH (owner)"""
    # `time` is the original time; `moment` is the same in UTC, or unchanged if it has no zone.
    yield """CREATE TABLE uses (
        owner bigint NOT NULL,
        item text COLLATE "C" NOT NULL,
        moment text COLLATE "C" NOT NULL,
        place text COLLATE "C",
        time text NOT NULL,
        revision bigint NOT NULL,
        UNIQUE NULLS NOT DISTINCT (owner, item, moment, place),
        FOREIGN KEY (owner, item) REFERENCES items ON DELETE CASCADE
    ) PARTITION BY HASH (owner)"""
    yield f"""CREATE TABLE vectors (
        {owner},
        digest bytea NOT NULL,
        model text COLLATE "C" NOT NULL,
        vector bytea NOT NULL,
        PRIMARY KEY (owner, digest, model)
    ) PARTITION BY HASH (owner)"""
    yield """CREATE TABLE portraits (
        owner bigint NOT NULL,
        item text COLLATE "C" NOT NULL,
        model text COLLATE "C" NOT NULL,
        digest bytea NOT NULL,
        vector bytea NOT NULL,
        PRIMARY KEY (owner, item, model),
        FOREIGN KEY (owner, item) REFERENCES items ON DELETE CASCADE
    ) PARTITION BY HASH (owner)"""
    # not within CREATE TABLE, which PostgreSQL 15 refuses; partitions made later inherit it
    for table in ("vectors", "portraits"):
        yield f"ALTER TABLE {table} ALTER COLUMN vector SET STORAGE EXTERNAL"
    for table in _PARTITIONED:
        for number in range(PARTITIONS):
            yield (
                f"CREATE TABLE {table}_{number} PARTITION OF {table} "
                f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})"
            )
    yield f"""CREATE TABLE feedback (
        key bigint GENERATED ALWAYS AS IDENTITY,
        {owner},
        request text NOT NULL,
        used text NOT NULL,
        rejected text NOT NULL,
        tool text,
        ok boolean NOT NULL,
        PRIMARY KEY (owner, key)
    )"""
    yield f"""CREATE TABLE tombstones (
        {owner},
        item bytea NOT NULL,
        revision bigint NOT NULL,
        PRIMARY KEY (owner, item)
    )"""
    yield "CREATE INDEX items_by_revision ON items (owner, revision)"
    yield "CREATE INDEX items_of_app ON items (owner, app, id)"
    yield "CREATE INDEX uses_by_revision ON uses (owner, revision)"
    yield "CREATE INDEX uses_by_time ON uses (owner, moment, item, place)"
    yield "CREATE INDEX tombstones_by_revision ON tombstones (owner, revision)"


def _secure_rows() -> Iterator[str]:
    """Forced, so that it holds for the owner of the tables; partitions have no policy and show nothing."""
    parts = [f"{table}_{number}" for table in _PARTITIONED for number in range(PARTITIONS)]
    for table in ("users", *_TABLES, *parts):
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY own_user ON users USING (id = {_USER})"
    yield f"CREATE POLICY list_users ON users FOR SELECT USING ({_LISTING})"
    for table in _TABLES:
        yield f"CREATE POLICY own_rows ON {table} USING (owner = {_KEY})"


def _list_ids() -> Iterator[str]:
    """A table of the users' ids beside `users`, so that listing them shows no profile, place or contact.

    A trigger fills it; deleting a user deletes the id. Roles that were granted `users` get the same here.
    """
    yield """CREATE TABLE user_ids (
        id text COLLATE "C" PRIMARY KEY REFERENCES users (id) ON UPDATE CASCADE ON DELETE CASCADE
    )"""
    yield "SELECT set_config('contextune.list', 'ids', true)"
    yield "INSERT INTO user_ids SELECT id FROM users"
    yield "SELECT set_config('contextune.list', '', true)"
    yield "DROP POLICY list_users ON users"
    yield "ALTER TABLE user_ids ENABLE ROW LEVEL SECURITY"
    yield "ALTER TABLE user_ids FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY own_id ON user_ids USING (id = {_USER})"
    yield f"CREATE POLICY list_ids ON user_ids FOR SELECT USING ({_LISTING})"
    yield """CREATE FUNCTION add_user_id() RETURNS trigger LANGUAGE plpgsql SET search_path = contextune AS $$
        BEGIN
            INSERT INTO user_ids VALUES (NEW.id) ON CONFLICT DO NOTHING;
            RETURN NULL;
        END $$"""
    yield "CREATE TRIGGER add_user_id AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION add_user_id()"
    yield """DO $$ DECLARE role oid; BEGIN
        FOR role IN SELECT DISTINCT grantee FROM pg_class, aclexplode(relacl)
            WHERE pg_class.oid = 'contextune.users'::regclass AND grantee <> relowner AND grantee <> 0
        LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON user_ids TO %I', pg_get_userbyid(role));
        END LOOP;
    END $$"""


def _rename_item_vectors() -> Iterator[str]:
    """Rename `portraits` and its partitions; a view of that name serves processes of earlier versions."""
    yield "ALTER TABLE portraits RENAME TO item_vectors"
    yield "ALTER INDEX portraits_pkey RENAME TO item_vectors_pkey"
    for number in range(PARTITIONS):
        yield f"ALTER TABLE portraits_{number} RENAME TO item_vectors_{number}"
    yield "CREATE VIEW portraits WITH (security_invoker = true) AS SELECT * FROM item_vectors"
    yield """DO $$ DECLARE role oid; BEGIN
        FOR role IN SELECT DISTINCT grantee FROM pg_class, aclexplode(relacl)
            WHERE pg_class.oid = 'contextune.item_vectors'::regclass AND grantee <> relowner AND grantee <> 0
        LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON portraits TO %I', pg_get_userbyid(role));
        END LOOP;
    END $$"""


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*_create_tables(), *_secure_rows()),
    tuple(service_tables()),
    tuple(copied_keys()),
    tuple(_list_ids()),
    tuple(_rename_item_vectors()),
)
"""SQL statements of each version."""
