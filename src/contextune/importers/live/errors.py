"""What can go wrong with a server."""

from contextune.errors import ContextuneError


class SyncError(ContextuneError):
    """A server cannot be reached, refuses the password, or answers with something unusable."""
