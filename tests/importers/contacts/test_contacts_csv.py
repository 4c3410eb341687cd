"""Contacts in the CSV files of Google (before and after 2024) and of Outlook."""

from pathlib import Path

import pytest
from tests.importers.reading_files import INES, read_path, skipped_in

from contextune.importers.address_book import AddressBook
from contextune.plan.names import match_names
from contextune.types import Contact

GOOGLE = (
    "First Name,Middle Name,Last Name,Nickname,Organization Name,Organization Title,Birthday,Notes,Labels,"
    "E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value\n"
    'Marta,,Silva,,Barro,Potter,1980-02-01,"likes, celadon",Studio ::: * myContacts,* Work,'
    "marta@example.org ::: m@example.org,s@example.org,Mobile,+351 912 345 678 ::: 5550142\n"
    "Ines,,Duarte,,,,,,,,ines@example.com,,,\n"
    ",,,,,,,,,,,,,\n"
    ",,,,Kiln Ltd,,,,,,info@example.net,,,\n"
)
OLD_GOOGLE = (
    "Name,Given Name,Additional Name,Family Name,Group Membership,E-mail 1 - Type,E-mail 1 - Value,"
    "Phone 1 - Type,Phone 1 - Value,Organization 1 - Name\n"
    "Marta Silva,Marta,,Silva,Studio ::: * myContacts,* ,marta@example.org,Mobile,+351 912 345 678,Barro\n"
)
OUTLOOK = (
    '"First Name","Middle Name","Last Name","Company","E-mail Address","E-mail 2 Address","Business Phone",'
    '"Mobile Phone"\n"Marta","","Silva","Barro","marta@example.org","","","+351 912 345 678"\n'
)


def contacts(tmp_path: Path, text: str) -> list[Contact]:
    (tmp_path / "contacts.csv").write_text(text, encoding="utf-8")
    return [record for record in read_path(tmp_path) if isinstance(record, Contact)]


@pytest.mark.parametrize("text", [GOOGLE, OLD_GOOGLE, OUTLOOK])
def test_people_have_names_addresses_and_numbers(tmp_path: Path, text: str) -> None:
    marta = contacts(tmp_path, text)[0]
    assert (marta.name, marta.email, marta.phone) == ("Marta Silva", "marta@example.org", "+351 912 345 678")
    assert marta.more["organization"] == "Barro"


def test_several_values_own_card_and_companies(tmp_path: Path) -> None:
    marta, company = contacts(tmp_path, GOOGLE)
    assert marta.more["emails"] == ["m@example.org", "s@example.org"]
    assert (marta.more["phones"], marta.more["groups"], marta.more["note"]) == (
        ["5550142"],
        ["Studio"],
        "likes, celadon",
    )
    assert (company.name, company.email) == ("Kiln Ltd", "info@example.net")
    assert skipped_in(tmp_path) == ["the user's own card: only its relations are read"]


FAMILY = (
    "Name Prefix,First Name,Last Name,Notes,E-mail 1 - Value,Phone 1 - Value,Relation 1 - Label,"
    "Relation 1 - Value\n"
    ",Ines,Duarte,,ines@example.com,,Brother,Rui Duarte\n"
    ",Rui,Duarte,my landlord,ines@example.com,+351 912 345 678,,\n"
    "Dr.,Ana,Reis,,ana@example.org,,,\n"
    ",Tom,Duarte,,tom@example.org,,Mother,Ines Duarte\n"
)


def test_card_that_shares_a_mailbox_with_the_user_is_another_person(tmp_path: Path) -> None:
    own, rui, *_ = contacts(tmp_path, FAMILY)
    assert (own.name, own.relation) == ("Rui Duarte", "brother")
    assert (rui.name, rui.email, rui.phone) == ("Rui Duarte", "ines@example.com", "+351 912 345 678")
    assert skipped_in(tmp_path) == ["the user's own card: only its relations are read"]


def test_title_before_a_name_is_kept_beside_it(tmp_path: Path) -> None:
    ana = contacts(tmp_path, FAMILY)[2]
    assert (ana.name, ana.more["prefix"]) == ("Ana Reis", "Dr.")
    plain = Contact("Bea Reis")
    both = match_names("Call Dr Reis", [plain, ana])
    assert both[1].words > both[0].words


def test_relation_to_the_user_is_read_from_a_persons_card(tmp_path: Path) -> None:
    tom = contacts(tmp_path, FAMILY)[3]
    assert (tom.relation, tom.more["related"]) == ("child", {"mother": "Ines Duarte"})


def test_note_does_not_override_the_own_card(tmp_path: Path) -> None:
    rows = FAMILY.splitlines(keepends=True)
    for text in (FAMILY, "".join([rows[0], *rows[:0:-1]])):
        book = AddressBook(())
        for contact in contacts(tmp_path, text):
            book.add(contact)
        (rui,) = (one for one in book.apply_to(INES).contacts if one.name == "Rui Duarte")
        assert (rui.relation, rui.phone) == ("brother", "+351 912 345 678")
