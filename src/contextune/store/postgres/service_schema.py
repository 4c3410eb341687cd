"""Migration of the tables that the processes of a service share: tokens, rates and notifications.

A trigger notifies the channel `contextune` when a user's items change or a user or token is deleted. Every
role that may connect can listen, so a user is named by a keyed digest, and nothing else of the user is sent.
"""

from collections.abc import Iterator

CHANNEL = "contextune"
"""Messages are `change DIGEST REVISION`, `forget DIGEST` and `token ID`."""
_LIST = "current_setting('contextune.list', true)"
_TOKEN = "current_setting('contextune.token', true)"  # noqa: S105  # a setting


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
    yield from _secure_rows()
    yield from _notify()


def copied_keys() -> Iterator[str]:
    """The migration that lets a copy of a store bring the key of its tokens; `key` itself never changes."""
    yield f"""CREATE POLICY add_secrets ON secrets FOR INSERT
        WITH CHECK ({_LIST} = 'secrets' AND name <> 'key')"""


def _secure_rows() -> Iterator[str]:
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
