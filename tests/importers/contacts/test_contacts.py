"""vCards of all versions, and relations to the user."""

from pathlib import Path

import pytest
from tests.importers.reading_files import CONTEXT, INES, NOW, read_path, skipped_in

from contextune.importers.reader import ImportContext
from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import Contact, User

NOBODY = ImportContext(User("somebody"), NOW)

RUI = """\
BEGIN:VCARD
VERSION:3.0
UID:rui-1
N:Duarte;Rui;;;
FN:Rui Duarte
EMAIL;TYPE=INTERNET,HOME:rui.old@example.com
item1.EMAIL;type=INTERNET;type=pref:rui.duarte@example.com
TEL;TYPE=CELL:555-0142
TEL;TYPE=HOME:555-0143
ORG:Barro\\, Lda;Kilns
ADR;TYPE=HOME:;;Rua do Barro 1;Porto;;4000-001;Portugal
BDAY:1988-02-29
NOTE:Likes talc\\; hates
  dust
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRg
 ABAQAAAQABAAD
END:VCARD
"""
OWN = """\
BEGIN:VCARD
VERSION:3.0
FN:Ines Duarte
EMAIL:ines@example.com
item1.X-ABRELATEDNAMES;type=pref:Rui Duarte
item1.X-ABLabel:_$!<Brother>!$_
item2.X-ABRELATEDNAMES:Ana Duarte
item2.X-ABLabel:godmother
END:VCARD
"""


def book(tmp_path: Path, *cards: str, name: str = "book.vcf", ending: str = "\r\n") -> Path:
    file = tmp_path / name
    file.write_bytes("".join(cards).replace("\n", ending).encode())
    return file


def contacts(file: Path, context: ImportContext = CONTEXT) -> list[Contact]:
    return [record for record in read_path(file, context) if isinstance(record, Contact)]


def card(*lines: str, version: str = "4.0") -> str:
    return "\n".join(["BEGIN:VCARD", f"VERSION:{version}", *lines, "END:VCARD", ""])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_card_becomes_a_contact(tmp_path: Path, ending: str) -> None:
    (rui,) = contacts(book(tmp_path, RUI, ending=ending))
    assert rui == Contact(
        "Rui Duarte",
        email="rui.duarte@example.com",
        phone="555-0142",
        more={
            "uid": "rui-1",
            "emails": ["rui.old@example.com"],
            "phones": ["555-0143"],
            "organization": "Barro, Lda, Kilns",
            "birthday": "1988-02-29",
            "addresses": ["Rua do Barro 1, Porto, 4000-001, Portugal"],
            "note": "Likes talc; hates dust",
        },
    )


def test_relations_from_the_users_own_card(tmp_path: Path) -> None:
    file = book(tmp_path, OWN, RUI)
    assert {record.name: record.relation for record in contacts(file)} == {
        "Ana Duarte": "godmother",
        "Rui Duarte": "brother",
    }
    assert skipped_in(file) == ["the user's own card: only its relations are read"]
    # whose card it is cannot be known without knowing the user: the relations stay with the card
    ines, rui = contacts(file, NOBODY)
    assert (ines.relation, rui.relation) == (None, None)
    assert ines.more["related"] == {"brother": "Rui Duarte", "godmother": "Ana Duarte"}


def test_relations_of_vcard_4_and_android(tmp_path: Path) -> None:
    own = card(
        "FN:Ines Duarte",
        "RELATED;TYPE=spouse:urn:uuid:f81d4fae",
        "RELATED;TYPE=friend;VALUE=text:Marta Silva",
        "RELATED;TYPE=agent;VALUE=uri:https://example.org/agent",
        "X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Joana;13;;;",
    )
    people = [
        card("UID:urn:uuid:f81d4fae", "FN:Nuno", "TEL;VALUE=uri;PREF=1:tel:+351-555-0199"),
        card("FN:Marta Silva", 'EMAIL;TYPE="work,home";PREF=1:marta@example.org'),
        card("FN:Joana"),
        card("FN:Teresa", "RELATED;TYPE=child;VALUE=text:Ines Duarte"),
        card("FN:Beatriz", "NICKNAME:Grandma"),
    ]
    records = contacts(book(tmp_path, own, *people))
    assert [(record.name, record.relation) for record in records] == [
        ("Nuno", "spouse"),
        ("Marta Silva", "friend"),
        ("Joana", "sister"),
        ("Teresa", "parent"),
        ("Beatriz", "grandma"),
    ]
    assert (records[0].phone, records[1].email) == ("+351-555-0199", "marta@example.org")


def test_vcard_2_1_with_its_encodings(tmp_path: Path) -> None:
    old = (
        "BEGIN:VCARD\r\nVERSION:2.1\r\n"
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;\r\n"
        "TEL;CELL;PREF:555-0177\r\nTEL;HOME:555-0178\r\n"
        "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Stra=DFe =\r\nund Hof=0D=0Ahinten\r\nEND:VCARD\r\n"
    )
    (records,) = contacts(book(tmp_path, old, ending="\n"))
    assert (records.name, records.phone) == ("Jörg Müller", "555-0177")
    assert records.more == {"phones": ["555-0178"], "note": "Straße und Hof\nhinten"}
    latin = card("FN:Jörg", version="2.1").encode("cp1252")
    (tmp_path / "latin.vcf").write_bytes(latin)
    assert contacts(tmp_path / "latin.vcf")[0].name == "Jörg"


def test_groups_and_broken_cards_are_skipped(tmp_path: Path) -> None:
    file = book(
        tmp_path,
        card("X-NOTHING:1"),
        card("KIND:group", "FN:Choir"),
        card("FN:", "N:;;;;", "EMAIL:only@example.org"),
        card("N:Silva;Marta", "a line that is none"),
        card("ORG:Studio;Glazes"),
        "BEGIN:VCARD\nVERSION:3.0\nFN:Never ended\n" + card("FN:Whole"),
        "BEGIN:VCARD\nFN:Cut off",
    )
    assert skipped_in(file) == [
        "card without a name",
        "contact group",
        "truncated card",
        "truncated card",
    ]
    assert [record.name for record in contacts(file)] == [
        "only@example.org",
        "Marta Silva",
        "Studio",
        "Whole",
    ]


def test_huge_line_is_truncated_and_reported(tmp_path: Path) -> None:
    photo = "\r\n ".join(["QUJD" * 18] * 9000)
    people = (card(f"FN:{'A' * 600_000}"), card("FN:Rui", f"PHOTO;ENCODING=b:{photo}", "TEL:5550142"))
    file = book(tmp_path, *people)
    assert skipped_in(file) == ["rest of a line that is too long"]
    long, rui = contacts(file)
    assert len(long.name) == 500
    assert (rui.name, rui.phone) == ("Rui", "5550142")


def test_importing_again_merges_contacts(tmp_path: Path, store: SQLiteStore) -> None:
    known = Contact("Rui Duarte", phone="+351 555 0142", relation="brother", more={"since": 1988})
    store.put_user(User(INES.id, INES.profile, contacts=(known, Contact("Nobody"))))
    other = RUI.replace("rui-1", "rui-2").replace("0142", "0150").replace("0143", "0151")
    file = book(tmp_path, RUI.replace("555-0142", "00351 5550142"), other.replace("duarte@", "d@"))
    first = import_into(store, "ines", [file])
    rui, nobody, namesake = store.user("ines").contacts
    assert (rui.relation, rui.more["since"], rui.email) == ("brother", 1988, "rui.duarte@example.com")
    assert (nobody, namesake.phone) == (Contact("Nobody"), "555-0150")
    assert (first.contacts, first.new_contacts) == (2, 1)
    before = store.revision("ines")
    again = import_into(store, "ines", [file])
    assert (again.new_contacts, store.revision("ines")) == (0, before)
