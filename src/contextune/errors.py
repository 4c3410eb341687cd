"""Exception hierarchy. Every message says what to do next."""


class ContextuneError(Exception):
    """Base class of all errors this library raises on purpose."""


class InvalidRequestError(ContextuneError):
    """The request cannot be answered: no text, an invalid time, an impossible place."""


class InvalidDataError(ContextuneError):
    """A file or value is malformed; the message names the file, the field and the reason."""


class LimitError(InvalidDataError):
    """A user's quota of items or uses is exceeded."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"quota exceeded: at most {limit:,} {what} per user; delete some, or raise the quota"
        )
        self.what, self.limit = what, limit


class UnknownUserError(ContextuneError):
    """The store has no such user."""


class StoreError(ContextuneError):
    """A store cannot be opened, read or written."""


class EmbedderError(ContextuneError):
    """An embedding model cannot be loaded or reached, or returns unusable vectors."""


class RankerError(ContextuneError):
    """A ranking model cannot be read, does not fit the features, or has no training data."""


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
        super().__init__(f"{what} needs the benchmark data: pip install contextune-lab (or run from a clone)")
