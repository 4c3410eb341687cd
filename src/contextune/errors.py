"""What can go wrong, as one small tree. Every message says what to do next."""


class ContextuneError(Exception):
    """The root of every error this library raises on purpose."""


class InvalidRequestError(ContextuneError):
    """A request that cannot be answered as it stands: no text, no date, an impossible place."""


class InvalidDataError(ContextuneError):
    """A file or value that is not what it should be; the message names file, field and reason."""


class LimitError(InvalidDataError):
    """More than may be kept of one user."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(
            f"the user would have more than {most:,} {what}, the most that were allowed for: "
            "delete some first, or allow for more"
        )
        self.what, self.most = what, most


class UnknownUserError(ContextuneError):
    """A user the store has never heard of."""


class StoreError(ContextuneError):
    """A store that cannot be opened, read or written."""


class EmbedderError(ContextuneError):
    """An embedding model that cannot be loaded, reached or understood."""


class RankerError(ContextuneError):
    """A ranking model that cannot be read or does not fit, or that has nothing to learn from."""


class LanguageModelError(ContextuneError):
    """A language model that cannot be reached, or whose answer is of no use."""


class PlanError(ContextuneError):
    """A call that does not fit the tool it is for."""


class MissingExtraError(ContextuneError):
    """An optional dependency that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an optional dependency; install it with: pip install 'contextune[{extra}]'"
        )
