"""Passwords in the URLs of databases are not shown."""

import pytest

from contextune._internal.postgres_url import hide_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:s3cret@db/x", "postgresql://ana:***@db/x"),
        ("no such store: /home/postgresq:/ana:s3cret@db/x", "no such store: /home/postgresq:/ana:***@db/x"),
        ("postgres://:s3cret@db/x and more", "postgres://:***@db/x and more"),
        ("postgresql://ana:a@s3cret@db:5432/x", "postgresql://ana:***@db:5432/x"),
        ("postgresql://db/x?user=ana&password=s3cret&a=1", "postgresql://db/x?user=ana&password=***&a=1"),
        (r"dbname=x password='a \' s3cret' host=db", "dbname=x password=*** host=db"),
        ("dbname=x PASSWORD = s3cret host=db", "dbname=x PASSWORD = *** host=db"),
        ("postgresql://ana@db/x at 10:30, see a@b", "postgresql://ana@db/x at 10:30, see a@b"),
        ("/home/ana/me.db", "/home/ana/me.db"),
    ],
)
def test_password_is_hidden(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown
