"""SQL schema and statements of a catalogue in PostgreSQL."""

SCHEMA = "contextune_tools"
VERSION = 1
LOCK = 0x43545453
"""Number of the advisory lock of writers: "CTTS"."""

CREATE = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    # one row; `averages` are the mean lengths of the fields that log sums in `words` are computed with
    f"""CREATE TABLE IF NOT EXISTS {SCHEMA}.state (
        version int NOT NULL, embedder text NOT NULL, dimension int NOT NULL,
        tools bigint NOT NULL DEFAULT 0, recounted bigint NOT NULL DEFAULT 0,
        averages double precision[] NOT NULL DEFAULT '{{1, 1, 1, 1}}'
    )""",
)
SEARCH_INDEXES = (
    ("tools_by_word", "CREATE INDEX IF NOT EXISTS tools_by_word ON {schema}.tools USING gin (words)"),
    (
        "tools_by_meaning",
        """CREATE INDEX IF NOT EXISTS tools_by_meaning ON {schema}.tools
        USING hnsw (vector {operators}) WITH (m = 24, ef_construction = 128)""",
    ),
)
"""Indexes that are faster to build over all tools than to extend by many, with their names."""
CREATE_TABLES = (
    """CREATE TABLE IF NOT EXISTS {schema}.tools (
        place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        app text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        source text COLLATE "C" NOT NULL,
        body text NOT NULL,
        read_only boolean NOT NULL,
        destructive boolean NOT NULL,
        name_key bigint NOT NULL,
        app_key bigint NOT NULL,
        name_tokens text[] NOT NULL,
        description_tokens text[] NOT NULL,
        parameters_tokens text[] NOT NULL,
        words text[] NOT NULL,
        vector {vector}({dimension}) NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS tools_of_app ON {schema}.tools (app)",
    "CREATE INDEX IF NOT EXISTS tools_of_source ON {schema}.tools (source)",
    "CREATE INDEX IF NOT EXISTS tools_by_name ON {schema}.tools (name)",
    "CREATE INDEX IF NOT EXISTS tools_by_name_key ON {schema}.tools (name_key)",
    *(statement for _, statement in SEARCH_INDEXES),
    """CREATE TABLE IF NOT EXISTS {schema}.examples (
        place bigint NOT NULL REFERENCES {schema}.tools ON DELETE CASCADE,
        vector {vector}({dimension}) NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS examples_of_tool ON {schema}.examples (place)",
    """CREATE INDEX IF NOT EXISTS examples_by_meaning ON {schema}.examples
        USING hnsw (vector {operators}) WITH (m = 24, ef_construction = 128)""",
    # by field: number of tools with the word, sum of log(1 + frequency)
    """CREATE TABLE IF NOT EXISTS {schema}.words (
        word text COLLATE "C" PRIMARY KEY,
        spellings text[] NOT NULL,
        tools bigint[] NOT NULL,
        log_sums double precision[] NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS words_by_spelling ON {schema}.words USING gin (spellings)",
)

PUT_TOOL = """
    INSERT INTO tools (id, app, name, source, body, read_only, destructive, name_key, app_key,
    name_tokens, description_tokens, parameters_tokens, words, vector)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET source = excluded.source, body = excluded.body,
    read_only = excluded.read_only, destructive = excluded.destructive,
    name_tokens = excluded.name_tokens, description_tokens = excluded.description_tokens,
    parameters_tokens = excluded.parameters_tokens, words = excluded.words, vector = excluded.vector"""
PUT_EXAMPLE = "INSERT INTO examples (vector, place) SELECT %s, place FROM tools WHERE id = %s"
ADD_WORDS = """
    INSERT INTO words AS old (word, spellings, tools, log_sums) VALUES (%s, %s, %s, %s)
    ON CONFLICT (word) DO UPDATE SET
    tools = ARRAY(SELECT a + b FROM unnest(old.tools, excluded.tools) AS pair (a, b)),
    log_sums = ARRAY(SELECT a + b FROM unnest(old.log_sums, excluded.log_sums) AS pair (a, b))"""
FIND_WORDS = """
    SELECT word, tools, log_sums FROM words WHERE word = ANY(%(words)s)
    UNION SELECT word, tools, log_sums FROM words WHERE spellings && %(spellings)s"""
NEAREST = "SELECT place FROM tools WHERE {filter} ORDER BY vector <#> %(vector)s LIMIT %(k)s"
NEAREST_EXAMPLES = """
    SELECT place FROM (
        SELECT place, vector <#> %(vector)s AS distance FROM examples
        WHERE place IN (SELECT place FROM tools WHERE {filter}) ORDER BY distance LIMIT %(k)s
    ) AS nearest GROUP BY place"""
BY_WORDS = """
    SELECT place FROM (
        SELECT found.place, query.weight
        FROM unnest(%(words)s::text[], %(weights)s::float8[]) AS query (word, weight)
        CROSS JOIN LATERAL (
            SELECT place FROM tools WHERE words @> ARRAY[query.word] AND {filter} LIMIT %(most)s
        ) AS found
    ) AS pairs GROUP BY place ORDER BY sum(weight) DESC, place LIMIT %(k)s"""
NAMED = """
    SELECT place FROM (
        SELECT place, row_number() OVER (
            PARTITION BY name_key ORDER BY (app_key = ANY(%(keys)s)) DESC, place
        ) AS number FROM tools WHERE name_key = ANY(%(keys)s) AND {filter}
    ) AS named WHERE number <= %(k)s"""
SAMPLE = """
    WITH ends AS (SELECT min(place) AS first, max(place) AS last FROM tools)
    SELECT DISTINCT ON (tools.place) tools.vector FROM ends, generate_series(0, %(size)s - 1) AS number,
    LATERAL (
        SELECT place, vector FROM tools
        WHERE place >= ends.first + ((ends.last - ends.first)::numeric * number / %(size)s)::bigint
        ORDER BY place LIMIT 1
    ) AS tools"""
"""Vectors of tools at even distances; fewer in a catalogue with gaps, all of a small one."""
ROWS = """
    SELECT place, body, app, name_tokens, description_tokens, parameters_tokens, vector
    FROM tools WHERE place = ANY(%s) ORDER BY place"""
