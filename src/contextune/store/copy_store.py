"""Copy a store into another of either kind: resumable, and verified by counts and digests."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from contextune.errors import StoreError, UnknownUserError
from contextune.store.protocol import ServiceStore
from contextune.store.rows import feedback_row, item_row, use_row, user_row, vector_blob
from contextune.types import Progress

_BATCH = 5000
"""Items, uses and vectors that are written in one transaction."""


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """What a copy contains."""

    users: int
    rows: Counter[str]
    """Number of items, uses, feedback, vectors and enriched vectors."""
    skipped: int
    """Users who were there already, with the same data."""
    surplus: tuple[str, ...] = ()
    """Users of the target that the source lacks, such as those forgotten there since an earlier copy."""


def copy_store(
    source: ServiceStore, target: ServiceStore, *, delete: bool = False, progress: Progress | None = None
) -> StoreCopy:
    """Copy all users; users whose data are in `target` already are skipped, so call it again after a failure.

    Users of the target that the source lacks are returned; `delete` forgets them in the target. Raise
    `StoreError` if the copy of a user differs from the original: the target has other data of that user, or
    somebody writes to one of the stores meanwhile.
    """
    users = source.users()
    rows: Counter[str] = Counter()
    skipped = 0
    for number, user in enumerate(users, 1):
        expected = digest_user(source, user)
        if _digest_if_known(target, user) == expected:
            skipped += 1
        else:
            _copy_user(source, target, user)
            copied = digest_user(target, user)
            if copied != expected:
                raise StoreError(
                    f"the copy of user {user!r} differs from the original ({_difference(expected, copied)}): "
                    "stop writers, or forget the user in the target, and copy again"
                )
        rows.update(expected.counts)
        if progress:
            progress(number, len(users))
    surplus = tuple(sorted(set(target.users()) - set(users)))
    if delete:
        for user in surplus:
            target.forget(user)
    return StoreCopy(len(users), rows, skipped, surplus)


@dataclass(frozen=True, slots=True)
class UserDigest:
    """Number of a user's rows, and a digest of all of them."""

    counts: Counter[str]
    digest: bytes


def digest_user(store: ServiceStore, user: str) -> UserDigest:
    """Count and digest all that a store has of a user; the same for both kinds of store."""
    counts: Counter[str] = Counter()
    digest = blake2b(digest_size=16)
    for kind, row in _rows(store, user):
        counts[kind] += 1
        for value in (kind, *row):
            data = value if isinstance(value, bytes) else repr(value).encode()
            digest.update(len(data).to_bytes(8))
            digest.update(data)
    return UserDigest(counts, digest.digest())


def _rows(store: ServiceStore, user: str) -> Iterator[tuple[str, tuple[object, ...]]]:
    yield "users", user_row(store.user(user))[:-1]
    for item in store.items(user):
        yield "items", item_row(0, item)[1:-1]
    uses = [use_row(0, use)[1:5] for use in store.uses(user)]
    for row in sorted(uses, key=lambda row: (row[0], row[1], isinstance(row[2], bytes), str(row[2]))):
        yield "uses", row
    for feedback in store.feedback(user):
        yield "feedback", feedback_row(0, feedback)[1:-1]
    for model, digests in sorted(store.vector_digests(user).items()):
        for digest, vector in sorted(store.vectors(user, model, digests).items(), key=lambda each: each[0]):
            yield "vectors", (model, digest, vector_blob(vector))
        enriched = sorted(store.enriched_vectors(user, model).items(), key=lambda each: each[0])
        for item, (digest, vector) in enriched:
            yield "enriched vectors", (model, item, digest, vector_blob(vector))


def _digest_if_known(store: ServiceStore, user: str) -> UserDigest | None:
    try:
        return digest_user(store, user)
    except UnknownUserError:
        return None


def _copy_user(source: ServiceStore, target: ServiceStore, user: str) -> None:
    """Write what the target lacks; each step can be repeated."""
    target.put_user(source.user(user))
    items, uses = source.items(user), source.uses(user)
    for start in range(0, len(items), _BATCH):
        target.put_items(user, items[start : start + _BATCH])
    for start in range(0, len(uses), _BATCH):
        target.put_uses(user, uses[start : start + _BATCH])
    feedback = source.feedback(user)
    for each in feedback[len(target.feedback(user)) :]:
        target.put_feedback(user, each)
    for model, digests in source.vector_digests(user).items():
        for start in range(0, len(digests), _BATCH):
            part = source.vectors(user, model, digests[start : start + _BATCH])
            target.put_vectors(user, model, part)
        enriched = list(source.enriched_vectors(user, model).items())
        for start in range(0, len(enriched), _BATCH):
            target.put_enriched_vectors(user, model, dict(enriched[start : start + _BATCH]))


def _difference(expected: UserDigest, copied: UserDigest) -> str:
    kinds = sorted({*expected.counts, *copied.counts})
    parts = [
        f"{copied.counts[kind]} instead of {expected.counts[kind]} {kind}"
        for kind in kinds
        if copied.counts[kind] != expected.counts[kind]
    ]
    return ", ".join(parts) or "equal numbers of rows, but other contents"
