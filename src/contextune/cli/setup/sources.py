"""Find what can be imported on this machine: mail folders, browser profiles, calendars, notes, exports."""

import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import BadZipFile

if TYPE_CHECKING:
    from contextune.types import Progress

KINDS = (
    "thunderbird", "apple-mail", "maildir", "messages", "browser", "calendar", "contacts", "obsidian",
    "takeout", "export",
)  # fmt: skip
_PROGRAMS = {
    "firefox": "Firefox",
    "chrome": "Chrome",
    "google-chrome": "Chrome",
    "chromium": "Chromium",
    "brave": "Brave",
    "edge": "Edge",
    "vivaldi": "Vivaldi",
    "safari": "Safari",
}
_FOLDERS = ("Downloads", "Documents", "Desktop")
"""Where people keep exports."""
_MAX_DEPTH = 3
_MAX_ENTRIES = 20_000
"""Files and folders that a search looks at, so that it ends soon on any disk."""
_MAX_FILES = 2_000
"""Files of an export whose format is detected; those of the rest are as likely to be of these formats."""
_ANY_TEXT = "notes"
"""The format of any text file, which is no sign of an export."""
_ARCHIVES = (".zip", ".tgz", ".gz")


@dataclass(frozen=True, slots=True)
class ImportSource:
    """Something to import: its kind, its name for people, the paths, and how much it is."""

    kind: str
    name: str
    paths: tuple[Path, ...]
    files: int
    size: int
    formats: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of files by format, as far as they were looked at."""


def find_sources(
    home: Path | None = None,
    platform: str = sys.platform,
    environ: Mapping[str, str] = os.environ,
    progress: "Progress | None" = None,
) -> list[ImportSource]:
    """Everything in the folder of the user that an importer can read, in the order of `KINDS`.

    `progress` is called with the number of searches that are done.
    """
    home = home or Path.home()
    support = _support_folders(home, platform, environ)
    searches = (
        _thunderbird(home, support, platform),
        _apple_mail(home),
        _maildirs(home),
        _messages(home),
        _browsers(home, support, platform),
        _exports(home),
        _obsidian(home, support),
    )
    sources: list[ImportSource] = []
    for number, search in enumerate(searches, 1):
        sources += search
        if progress:
            progress(number, len(searches))
    return sorted(sources, key=lambda source: (KINDS.index(source.kind), source.name))


def _support_folders(home: Path, platform: str, environ: Mapping[str, str]) -> list[Path]:
    """Where programs keep their profiles."""
    if platform == "darwin":
        return [home / "Library" / "Application Support", home / "Library"]
    if platform == "win32":
        folders = (environ.get("APPDATA"), environ.get("LOCALAPPDATA"))
        return [Path(folder) for folder in folders if folder]
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [config, home / "snap", home / ".var" / "app"]


def _source(kind: str, name: str, paths: Iterable[Path]) -> Iterator[ImportSource]:
    """A source of these paths, unless they are empty."""
    paths = tuple(paths)
    sizes = [size for path in paths for size in _sizes(path)]
    if sizes:
        yield ImportSource(kind, name, paths, len(sizes), sum(sizes))


def _sizes(path: Path) -> Iterator[int]:
    """The size of a file, or of each file in a folder."""
    files = [path] if path.is_file() else [file for _, files in _walk(path, 12) for file in files]
    for file in files:
        try:
            yield file.stat().st_size
        except OSError:
            continue


def _walk(folder: Path, depth: int) -> Iterator[tuple[Path, list[Path]]]:
    """Folders, not hidden ones and not links, with their files, down to a depth."""
    left = _MAX_ENTRIES
    pending = [(folder, depth)]
    while pending and left > 0:
        current, levels = pending.pop()
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(entries)
        yield current, [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
        if levels:
            pending += [
                (Path(entry.path), levels - 1)
                for entry in reversed(entries)
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            ]


def _glob(folders: Iterable[Path], *patterns: str) -> list[Path]:
    """The paths that match a pattern in one of the folders; folders that cannot be read have none."""
    found: dict[Path, None] = {}
    for folder in folders:
        for pattern in patterns:
            try:
                found |= dict.fromkeys(sorted(folder.glob(pattern)))
            except OSError:
                continue
    return list(found)


def _thunderbird(home: Path, support: list[Path], platform: str) -> Iterator[ImportSource]:
    folders = [home / ".thunderbird"]
    if platform in ("darwin", "win32"):
        folders = [folder / "Thunderbird" / "Profiles" for folder in support]
    else:
        folders += [home / "snap/thunderbird/common/.thunderbird"]
        folders += [home / ".var/app/org.mozilla.Thunderbird/.thunderbird"]
    for profile in _glob(folders, "*"):
        mail = [profile / name for name in ("Mail", "ImapMail") if (profile / name).is_dir()]
        yield from _source("thunderbird", f"Thunderbird, profile {profile.name}", mail)


def _apple_mail(home: Path) -> Iterator[ImportSource]:
    for folder in _glob([home / "Library" / "Mail"], "V[0-9]*"):
        yield from _source("apple-mail", "Apple Mail", [folder])


def _maildirs(home: Path) -> Iterator[ImportSource]:
    for name in ("Maildir", "Mail", "mail", ".maildir", ".mail"):
        folder = home / name
        if folder.is_dir() and any(current.name == "cur" for current, _ in _walk(folder, _MAX_DEPTH)):
            yield from _source("maildir", f"Maildir {folder.relative_to(home)}", [folder])


def _browsers(home: Path, support: list[Path], platform: str) -> Iterator[ImportSource]:
    folders = [*support, home / ".mozilla"]
    histories = _glob(
        folders,
        "firefox/*/places.sqlite",
        "Firefox/Profiles/*/places.sqlite",
        "Mozilla/Firefox/Profiles/*/places.sqlite",
        "firefox/common/.mozilla/firefox/*/places.sqlite",
        "org.mozilla.firefox/.mozilla/firefox/*/places.sqlite",
        "Safari/History.db",
    )
    profiles = "User Data/*/History" if platform == "win32" else "*/History"
    for name in (
        "google-chrome", "chromium", "microsoft-edge", "vivaldi", "BraveSoftware/Brave-Browser",
        "Google/Chrome", "Chromium", "Microsoft/Edge", "Microsoft Edge", "Vivaldi",
    ):  # fmt: skip
        histories += _glob(support, f"{name}/{profiles}")
    for history in dict.fromkeys(histories):
        text = str(history).casefold()
        program = next((label for key, label in _PROGRAMS.items() if key in text), "Browser")
        profile = "" if program == "Safari" else f", profile {history.parent.name}"
        yield from _source("browser", f"{program}{profile}", [history])


def _messages(home: Path) -> Iterator[ImportSource]:
    for database in _glob([home / "Library" / "Messages"], "chat.db"):
        yield from _source("messages", "Messages", [database])


def _exports(home: Path) -> Iterator[ImportSource]:
    """Files, folders and archives among downloads and documents that an importer can read."""
    for folder in (home / name for name in _FOLDERS):
        for path in _glob([folder], "*"):
            if not path.name.startswith(".") and not path.is_symlink():
                yield from find_export(path, str(path.relative_to(home)))


def find_export(path: Path, label: str) -> Iterator[ImportSource]:
    """A file, folder or archive, if an importer can read it, with the number of files by format.

    A text file alone is not enough, and an Obsidian vault is found elsewhere.
    """
    if path.is_dir() and (path / ".obsidian").exists():
        return
    is_archive = path.is_file() and path.suffix.lower() in _ARCHIVES
    if is_archive and path.name.startswith("takeout-"):  # may have gigabytes
        yield from _source("takeout", label, [path])
        return
    formats = _formats(path)
    if not formats.keys() - {_ANY_TEXT}:
        return
    (sole, *others) = formats
    kind = sole if not others and sole in KINDS else "export"
    for source in _source(kind, label, [path]):
        yield replace(source, formats=formats)


def _formats(path: Path) -> Mapping[str, int]:
    """The number of files by the format in which they are read, the most frequent first."""
    from contextune.importers.files import SourceFile, iter_files
    from contextune.importers.registry import detect_reader

    formats: Counter[str] = Counter()
    for file in islice(iter_files([path]), _MAX_FILES):
        try:
            reader = detect_reader(file) if isinstance(file, SourceFile) else None
        except (OSError, ValueError, EOFError, BadZipFile, zlib.error):  # damaged or encrypted
            continue
        if reader is not None:
            formats[reader.name] += 1
    return dict(formats.most_common())


def _obsidian(home: Path, support: list[Path]) -> Iterator[ImportSource]:
    vaults: dict[Path, None] = {}
    for settings in _glob(
        support, "obsidian/obsidian.json", "md.obsidian.Obsidian/config/obsidian/obsidian.json"
    ):
        vaults |= dict.fromkeys(_listed_vaults(settings))
    for folder in (home, home / "Documents", home / "Obsidian", home / "Notes"):
        vaults |= dict.fromkeys(path.parent for path in _glob([folder], ".obsidian", "*/.obsidian"))
    for vault in vaults:
        if vault.is_dir():
            yield from _source("obsidian", f"Obsidian vault {vault.name}", [vault])


def _listed_vaults(settings: Path) -> Iterator[Path]:
    """The vaults in the settings of Obsidian; none if they cannot be read."""
    try:
        content = json.loads(settings.read_text(encoding="utf-8"))
        vaults = cast("Mapping[str, Mapping[str, Any]]", content.get("vaults", {}))
        yield from (Path(str(vault["path"])) for vault in vaults.values())
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return
