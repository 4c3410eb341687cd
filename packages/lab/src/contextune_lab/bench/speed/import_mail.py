"""Import speed and memory for a large synthetic mailbox."""

import base64
import multiprocessing
import quopri
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter

from contextune.importers.files import SourceFile, iter_files
from contextune.importers.mail.reader import MboxReader
from contextune.importers.reader import ImportContext
from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import Item, Progress, User

_WORDS = tuple(
    re.findall(
        r"\w+",
        "the kiln opens at nine and two slots are free on Thursday please bring your glaze tests invoice "
        "attached for May thanks again see you at the studio Lisboa reunião às dez über Straße budget draft "
        "flight hotel confirmed number gate dinner at eight Ana will join meeting notes below regards",
    )
)
SHARES = {"plain": 45, "both": 30, "html": 15, "attached": 10}
"""Percentages of plain-text mails, text + HTML, HTML only, and mails with an attachment."""
_START = datetime(2022, 1, 3, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ImportSpeed:
    """Result of one import."""

    megabytes: float
    mails: int
    parsing: float
    """Seconds to parse the mailbox, without a store."""
    importing: float
    """Seconds for the first import."""
    again: float
    """Seconds to import it again, when nothing is new."""
    memory: float
    """Peak memory of the process in MB."""


def measure(
    megabytes: int = 1000, progress: Progress | None = None, shares: Mapping[str, int] = SHARES
) -> ImportSpeed:
    """Write a mailbox of this size and import it in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        mailbox = Path(folder) / "Inbox.mbox"
        size = write_mailbox(mailbox, megabytes * 1_000_000, progress, shares)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            mails, *figures = pool.apply(_measure_import, (mailbox,))
    return ImportSpeed(size / 1e6, mails, *figures)


def _measure_import(mailbox: Path) -> tuple[int, float, float, float, float]:
    file = next(file for file in iter_files([mailbox]) if isinstance(file, SourceFile))
    context = ImportContext(User("bench"), _START)
    start = perf_counter()
    mails = sum(isinstance(entry, Item) for entry in MboxReader().read(file, context))
    parsed = perf_counter()
    with SQLiteStore(mailbox.parent / "store.db") as store:
        times = [perf_counter()]
        for _ in range(2):
            import_into(store, "bench", [mailbox])
            times.append(perf_counter())
    return mails, parsed - start, times[1] - times[0], times[2] - times[1], _peak_memory()


def _peak_memory() -> float:
    """Peak resident memory in MB; NaN on Windows."""
    try:
        import resource
    except ImportError:  # not available on Windows
        return float("nan")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e6 if sys.platform == "darwin" else 1e3)


def write_mailbox(
    path: Path, size: int, progress: Progress | None = None, shares: Mapping[str, int] = SHARES, seed: int = 7
) -> int:
    """Write about `size` bytes of mail: most mails are small, most bytes are attachments."""
    written = 0
    with path.open("wb") as target:
        for mail in _mails(Random(seed), shares):  # noqa: S311  # no secrets here
            written += target.write(mail)
            if progress:
                progress(min(written, size), size)
            if written >= size:
                return written
    return written


def write_mails(path: Path, count: int, progress: Progress | None = None, seed: int = 7) -> int:
    """Write this number of mails of the usual kinds; returns the bytes."""
    written = 0
    with path.open("wb") as target:
        for number, mail in enumerate(islice(_mails(Random(seed), SHARES), count), 1):  # noqa: S311
            written += target.write(mail)
            if progress:
                progress(number, count)
    return written


def _mails(random: Random, shares: Mapping[str, int]) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        (kind,) = random.choices(tuple(shares), tuple(shares.values()))
        headers, body = _BODIES[kind](random)
        time = _START + timedelta(minutes=7 * number)
        sender = f"{random.choice(_WORDS).lower()}.{random.randrange(400)}@example.org"
        stamp = f"{time:%a %b %d %H:%M:%S +0000 %Y}"
        relays = "".join(
            f"Received: from mx{hop}.example.net (mx{hop}.example.net [192.0.2.{hop}])\n"
            f"\tby mx{hop + 1}.example.net with ESMTPS id {random.getrandbits(80):x}\n"
            f"\tfor <ines@example.com>; {format_datetime(time)}\n"
            for hop in range(3)
        )
        signature = "\n\t".join(f"{random.getrandbits(280):070x}" for _ in range(14))
        yield (
            (
                f"From {random.getrandbits(60)}@xxx {stamp}\n"
                f"X-GM-THRID: {random.getrandbits(60)}\nX-Gmail-Labels: Inbox,Opened\n"
                f"Delivered-To: ines@example.com\n{relays}"
                f"DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=one;\n\tb={signature}\n"
                f"Message-ID: <{number}.{random.getrandbits(64):x}@example.org>\n"
                f"Date: {format_datetime(time)}\nFrom: {sender.partition('.')[0].title()} <{sender}>\n"
                f"To: Ines Duarte <ines@example.com>\nSubject: {_text(random, 6)}\n"
                f"MIME-Version: 1.0\n{headers}\n"
            ).encode()
            + body
            + b"\n"
        )


def _text(random: Random, count: int) -> str:
    return " ".join(random.choices(_WORDS, k=count))


def _paragraphs(random: Random, count: int) -> str:
    return "\n\n".join(_text(random, random.randrange(10, 60)) for _ in range(count))


def _html(random: Random, rows: int) -> str:
    style = "".join(f".c{n} {{ color: #{n:06x}; font-family: Arial, sans-serif; }}\n" for n in range(60))
    cells = "".join(
        f'<tr><td class="c{n % 60}" style="padding:0 12px;font-size:14px;line-height:20px">'
        f'<a href="https://example.org/click?id={random.getrandbits(300):x}">{_text(random, 12)}</a>&nbsp;'
        f"<span>{_text(random, 20)}</span></td></tr>\n"
        for n in range(rows)
    )
    return f"<html><head><style>{style}</style></head><body><table>{cells}</table></body></html>"


def _quoted_printable(text: str) -> str:
    return quopri.encodestring(text.encode()).decode("ascii")


def _plain(random: Random) -> tuple[str, bytes]:
    text = _paragraphs(random, random.randrange(1, 12))
    return "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n", text.encode()


def _only_html(random: Random) -> tuple[str, bytes]:
    headers = "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
    return headers, _quoted_printable(_html(random, random.randrange(60, 180))).encode()


def _text_and_html(random: Random) -> tuple[str, bytes]:
    boundary = f"{random.getrandbits(96):024x}"
    part = "Content-Type: text/{}; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n\n"
    plain, html = (
        _quoted_printable(_paragraphs(random, 5)),
        _quoted_printable(_html(random, random.randrange(20, 100))),
    )
    body = (
        f"--{boundary}\n{part.format('plain')}{plain}\n"
        f"--{boundary}\n{part.format('html')}{html}\n--{boundary}--\n"
    )
    return f'Content-Type: multipart/alternative; boundary="{boundary}"\n', body.encode()


def _with_attachment(random: Random) -> tuple[str, bytes]:
    boundary = f"{random.getrandbits(96):024x}"
    headers, body = _text_and_html(random)
    content = base64.encodebytes(random.randbytes(int(random.lognormvariate(12.5, 1.2))))
    name = f"{random.choice(_WORDS)}.pdf"
    inner = f"--{boundary}\n{headers}\n".encode() + body
    attachment = (
        f'\n--{boundary}\nContent-Type: application/pdf; name="{name}"\n'
        f'Content-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n\n'
    ).encode()
    body_bytes = inner + attachment + content + f"--{boundary}--\n".encode()
    return f'Content-Type: multipart/mixed; boundary="{boundary}"\n', body_bytes


_BODIES: dict[str, Callable[[Random], tuple[str, bytes]]] = {
    "plain": _plain,
    "both": _text_and_html,
    "html": _only_html,
    "attached": _with_attachment,
}
