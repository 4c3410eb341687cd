"""Exception hierarchy. Every message says what to do next."""

from typing import Literal


class ContextuneError(Exception):
    """Base class of all errors this library raises on purpose."""


class InvalidRequestError(ContextuneError):
    """The request cannot be answered: no text, an invalid time, an impossible place."""


class InvalidDataError(ContextuneError):
    """A file or value is malformed; the message names the file, the field and the reason."""


class LimitError(InvalidDataError):
    """A quota is exceeded: items, uses or bytes of a user, or bytes of one item."""

    def __init__(self, what: str, limit: int, per: Literal["user", "item"] = "user") -> None:
        remedy = "shorten it" if per == "item" else "delete some"
        super().__init__(f"quota exceeded: at most {limit:,} {what} per {per}; {remedy}, or raise the quota")
        self.what, self.limit, self.per = what, limit, per


class UnknownUserError(ContextuneError):
    """The store has no such user."""


class StoreError(ContextuneError):
    """A store cannot be opened, read or written."""


class DamagedStoreError(StoreError):
    """A store's file has changed outside of the store: restore it from a backup."""


class ErasureIncompleteError(StoreError):
    """A user's rows are deleted, but the file could not be rewritten without them yet."""


class EmbedderError(ContextuneError):
    """An embedding model cannot be loaded or reached, or returns unusable vectors."""


class RankerError(ContextuneError):
    """A ranking model cannot be read, does not fit the features, or has no training data."""


class DamagedModelError(ContextuneError):
    """A file of a bundled model is missing or has changed: reinstall the package."""


class LanguageModelError(ContextuneError):
    """A language model cannot be reached, or its answer is unusable."""


class PlanError(ContextuneError):
    """A call does not fit the tool's parameters."""


class MissingExtraError(ContextuneError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an optional dependency; install it with: pip install 'contextune[{extra}]'"
        )


class MissingLabDataError(ContextuneError):
    """Benchmark or training data that the distribution `contextune-lab` installs."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs the benchmark data: pip install contextune-lab "
            "(in a checkout: pip install -e packages/lab)"
        )
