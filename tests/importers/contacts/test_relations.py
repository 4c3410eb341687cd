"""Relations that nickname, note, job title and company of a card state."""

from pathlib import Path

import pytest
from tests.importers.reading_files import CONTEXT, read_path

from contextune.importers.address_book import AddressBook
from contextune.importers.contacts.relations import stated_relation
from contextune.types import Contact, User


@pytest.mark.parametrize(
    ("note", "relation"),
    [
        ("my manager", "manager"),
        ("Landlord, property management", "landlord"),
        ("babysitter, 12 EUR an hour", "babysitter"),
        ("Ben's teacher", "ben's teacher"),
        ("She is our neighbour. Has the spare key.", "neighbour"),
        ("mother-in-law", "mother-in-law"),
        ("Nachbarin", "neighbour (Nachbarin)"),
        ("mother of Emma's friend Lotte", None),
        ("Met at the fair, wants a call", None),
        ("Likes talc; hates dust", None),
        ("not my boss", None),
        ("knows the landlord", None),
        ("Call before the vet", None),
        ("", None),
    ],
)
def test_first_clause_of_a_note_is_a_relation_if_it_ends_with_a_role(note: str, relation: str | None) -> None:
    assert stated_relation(note=note) == relation


@pytest.mark.parametrize(
    ("title", "organization", "relation"),
    [
        ("Dentist", "", "dentist"),
        ("Zahnarzt", "", "dentist (Zahnarzt)"),
        ("Steuerberaterin", "Kanzlei Wolff", "tax advisor (Steuerberaterin) at Kanzlei Wolff"),
        ("Plumber", "Pohl Sanitär", "plumber at Pohl Sanitär"),
        ("Engineering Manager", "Acme", None),
        ("", "Acme", None),
        ("", "Trattoria Sale", "restaurant"),
        ("", "", None),
    ],
)
def test_job_is_a_relation_if_it_is_a_service(title: str, organization: str, relation: str | None) -> None:
    assert stated_relation(title=title, organization=organization) == relation


def test_nickname_and_note_come_before_the_job() -> None:
    assert stated_relation("Mum", "my boss", "Nurse") == "mum"
    assert stated_relation("", "my boss", "Team lead", "Office Partner") == "boss"


def test_job_does_not_replace_a_relation_that_is_known() -> None:
    book = AddressBook([Contact("Rui Duarte", "rui@example.com", relation="brother")])
    book.add(Contact("Rui Duarte", "rui@example.com", relation="dentist", more={"title": "Dentist"}))
    assert [contact.relation for contact in book.apply_to(User("ines")).contacts] == ["brother"]


def test_cards_and_tables_state_relations(tmp_path: Path) -> None:
    vcard = tmp_path / "book.vcf"
    vcard.write_text("BEGIN:VCARD\nVERSION:3.0\nFN:Bernd Vogel\nTITLE:Dentist\nEND:VCARD\n")
    table = tmp_path / "book.csv"
    table.write_text("First Name,Last Name,Phone 1 - Value,Notes\nJo,Hall,555-0100,my landlord\n")
    found = [record for file in (vcard, table) for record in read_path(file, CONTEXT)]
    assert [(one.name, one.relation) for one in found if isinstance(one, Contact)] == [
        ("Bernd Vogel", "dentist"),
        ("Jo Hall", "landlord"),
    ]


@pytest.mark.parametrize(
    ("card", "relation"),
    [
        ({"name": "Bev Catch", "organization": "St Wilfrid's Hospital", "title": "Matron"}, None),
        ({"name": "Stu Pell", "organization": "Plains Bank", "title": "Bank manager"}, None),
        ({"name": "Wendy", "note": "was at the bank"}, None),
        ({"name": "Bev Catch", "note": "St Wilfrid's Hospital, ward 4"}, None),
        ({"name": "Bev Catch", "note": "st wilfrid's hospital"}, None),
        ({"name": "Stu Pell", "note": "Plains Bank"}, None),
        ({"name": "Riverside", "note": "local hospital"}, "local hospital"),
        ({"name": "Michelle", "nickname": "PA"}, "personal assistant (PA)"),
        ({"name": "Foothill Pharmacy", "organization": "Foothill Pharmacy"}, "pharmacy"),
        ({"name": "Plains Bank", "note": "my bank"}, "bank"),
        ({"name": "Michelle", "note": "my PA"}, "personal assistant (PA)"),
        ({"name": "Joe", "note": "my pa"}, "pa"),
    ],
)
def test_employer_is_no_relation(card: dict[str, str], relation: str | None) -> None:
    assert stated_relation(**card) == relation
