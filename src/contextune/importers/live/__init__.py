"""Live sources: mail servers (IMAP) and calendar and contact servers (CalDAV, CardDAV), read only."""

from contextune.importers.live.accounts import SyncAccount, SyncState
from contextune.importers.live.run import SyncReport, sync_account

__all__ = ["SyncAccount", "SyncReport", "SyncState", "sync_account"]
