"""Importers: personal files (mail, calendars, contacts, notes, histories) -> items in a store."""

from contextune.importers.registry import READERS
from contextune.importers.report import ImportReport
from contextune.importers.run import import_into

__all__ = ["READERS", "ImportReport", "import_into"]
