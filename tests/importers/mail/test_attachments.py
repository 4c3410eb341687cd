"""Text of attached documents, as passages of a mail."""

import base64
import io
import sys
import zipfile
from pathlib import Path

import pytest
from tests.importers.mail.test_mail import PLAIN, eml
from tests.importers.reading_files import INES, NOW, fields_in, skipped_in

from contextune.errors import MissingExtraError
from contextune.importers import import_into
from contextune.importers.mail.attachments import MAX_ATTACHMENT, MAX_PASSAGE, AttachedDocument, document_text
from contextune.importers.reader import ImportContext
from contextune.store import SQLiteStore

CONTEXT = ImportContext(INES, NOW, attachments=True)


def pdf(text: str) -> bytes:
    """A document of one page, as a printer driver writes it."""
    drawing = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    content, places = b"%PDF-1.4\n", list[int]()
    for number, entry in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, entry)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return content + end % (table, len(content))


def docx(xml: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document><w:body>{xml}</w:body></w:document>")
    return stream.getvalue()


TWO_LINES = (
    '<w:p><w:r><w:t xml:space="preserve">Cone 6 </w:t></w:r><w:r><w:t>&amp; cone 9</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>two</w:t><w:tab/><w:t>bags</w:t></w:r></w:p>"
)


def mail(*attached: tuple[str, bytes]) -> bytes:
    head = PLAIN.split(b"Content-Type")[0]
    parts = [b"Content-Type: text/plain\n\nSee the list."]
    for name, content in attached:
        header = f'Content-Type: application/octet-stream; name="{name}"\nContent-Disposition: attachment'
        encoded = base64.encodebytes(content)
        parts.append(header.encode() + b"\nContent-Transfer-Encoding: base64\n\n" + encoded)
    body = b"".join(b"--x\n%s\n" % part for part in parts)
    return head + b'Content-Type: multipart/mixed; boundary="x"\n\n' + body + b"--x--\n"


def test_documents_are_passages_of_their_mail_if_asked_for(tmp_path: Path) -> None:
    path = eml(
        tmp_path,
        mail(
            ("Quote.pdf", pdf("Kiln shelves: 240 EUR")),
            ("List.DOCX", docx(TWO_LINES)),
            ("Glazes.txt", "Talc, Lágrima".encode()),
            ("photo.jpg", b"\xff\xd8"),
        ),
    )
    (fields,) = fields_in(path, CONTEXT)
    content = str(fields["content"])
    assert content.startswith("See the list.\nAttached: Quote.pdf, List.DOCX, Glazes.txt, photo.jpg\n")
    assert content.split("\n\n")[1:] == [
        "Quote.pdf:\nKiln shelves: 240 EUR",
        "List.DOCX:\nCone 6 & cone 9\ntwo bags",
        "Glazes.txt:\nTalc, Lágrima",
    ]
    (plain,) = fields_in(path)
    assert "240 EUR" not in plain["content"]
    assert plain["attachments"] == fields["attachments"]


def test_damaged_and_large_documents_are_only_named(tmp_path: Path) -> None:
    large = b"x" * (MAX_ATTACHMENT + 1)
    path = eml(tmp_path, mail(("a.pdf", b"%PDF-1.4 broken"), ("b.docx", b"PK"), ("c.txt", large)))
    (fields,) = fields_in(path, CONTEXT)
    assert str(fields["content"]).endswith("Attached: a.pdf, b.docx, c.txt\nFrom: Marta Silva")
    assert skipped_in(path, CONTEXT) == ["text of an attachment that is damaged or encrypted"] * 2


def test_long_documents_are_cut() -> None:
    xml = "<w:p><w:r><w:t>talc </w:t></w:r></w:p>" * 5000
    assert len(document_text(AttachedDocument("a.docx", docx(xml))) or "") == MAX_PASSAGE


def test_missing_library_is_named_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with SQLiteStore(tmp_path / "store.db") as store:
        with pytest.raises(MissingExtraError, match=r"contextune\[attachments\]"):
            import_into(store, "ines", [tmp_path], now=NOW, attachments=True)
        assert store.users() == []
