"""Weights of users in training, so that nobody dominates; and users who are held out."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

MAX_SHARE = 0.05
"""The largest share of one user in the total weight, as far as there are enough users."""
HELD_OUT_SHARE = 0.2


def request_weights(counts: Mapping[str, int], max_share: float = MAX_SHARE) -> dict[str, float]:
    """The weight of each of a user's requests, from the number of requests of each user.

    Requests weigh 1, unless their user has more than the bound; then they share the bound. It is the
    largest one with which no user has more than `max_share` of the total. With fewer users than
    `1 / max_share`, all users weigh the same.
    """
    if not 0 < max_share <= 1:
        raise ValueError(f"max_share={max_share!r}: a share is above 0 and at most 1")
    positive = {user: count for user, count in counts.items() if count > 0}
    bound = _largest_bound(sorted(positive.values()), max_share)
    return {user: min(1.0, bound / count) for user, count in positive.items()}


def _largest_bound(counts: Sequence[int], max_share: float) -> float:
    """The largest b with b <= max_share * sum(min(count, b)); at least the smallest count.

    With the counts in ascending order, the sum for a b between count k - 1 and count k is the sum of the
    first k counts and b for each of the others.
    """
    if not counts:
        return 0.0
    total, best, below = 0, float(counts[0]), 0
    for number, count in enumerate(counts):
        above = len(counts) - number
        if max_share * above >= 1:  # however large b: there are enough users above
            bound = float(count)
        else:
            bound = min(float(count), max_share * total / (1 - max_share * above))
        if bound >= below:  # else it is no solution between the two counts
            best = max(best, bound)
        total, below = total + count, count
    return best


def is_held_out(user: str, share: float = HELD_OUT_SHARE) -> bool:
    """Whether a user is held out of training: the same users in every run, as a digest of the id decides."""
    return _position(user) < share


def split_users(users: Sequence[str], share: float = HELD_OUT_SHARE) -> tuple[list[str], list[str]]:
    """Users to train on and users held out, at least one of each if there are two."""
    held_out = [user for user in users if is_held_out(user, share)]
    if len(users) > 1:
        ordered = sorted(users, key=_position)
        if not held_out:
            held_out = ordered[:1]
        elif len(held_out) == len(users):
            held_out = ordered[:-1]
    chosen = set(held_out)
    return [user for user in users if user not in chosen], held_out


def _position(user: str) -> float:
    digest = blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8, person=b"held out").digest()
    return int.from_bytes(digest) / 2**64
