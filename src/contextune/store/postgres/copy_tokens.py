"""Copy the tokens and rate limits of a service from one store in PostgreSQL into another."""

from contextune.errors import StoreError
from contextune.store.postgres.service_tables import ServiceTables


def copy_tokens(source: ServiceTables, target: ServiceTables) -> int:
    """Copy all tokens, with what is left of their rates; return their number. Copying again changes nothing.

    A service over the target accepts them once it is started again. Raise `StoreError` if the target has
    another token of the same id.
    """
    known = set(target.token_keys())
    for key in source.token_keys():
        if key not in known:
            target.add_token_key(key)
    tokens, present = source.tokens(), {token.id: token for token in target.tokens()}
    for token in tokens:
        if token.id not in present:
            target.add_token(token)
            if rate := source.rate(token.id):
                target.put_rate(token.id, rate)
        elif present[token.id] != token:
            raise StoreError(
                f"the target has another token {token.id!r}: remove it there with "
                "'contextune serve token remove', and copy again"
            )
    return len(tokens)
