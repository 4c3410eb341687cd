"""Contacts named in a request."""

import pytest

from contextune.plan.names import match_names
from contextune.types import Contact

CONTACTS = [
    Contact("Bruno Kosuta"),
    Contact("Bruno Rossi"),
    Contact("Belgin Hoca"),
    Contact("Park Tae-min"),
    Contact("Zachary Poulin"),
    Contact("Noa Benhaïm"),
    Contact("Mẹ"),
    Contact("Dr. Marta Reis"),
    Contact("Tuula, service manager"),
    Contact("Mike Hall"),
    Contact("Hatice Demir", more={"nickname": "Anneciğim, Hati"}),
]


def named(text: str) -> list[str]:
    matches = match_names(text, CONTACTS)
    best = max(match.words for match in matches)
    return [c.name for c, match in zip(CONTACTS, matches, strict=True) if match.words and match.words == best]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Call Bruno Rossi.", ["Bruno Rossi"]),
        ("Call Bruno.", ["Bruno Kosuta", "Bruno Rossi"]),
        ("Write to Belgin hoca", ["Belgin Hoca"]),
        ("Ring Tae-min back", ["Park Tae-min"]),
        ("Get me Zach on the phone", ["Zachary Poulin"]),
        ("message noa benhaim", ["Noa Benhaïm"]),
        ("Play the voicemail from Mẹ.", ["Mẹ"]),
        ("Write to Dr. Reis that I cannot come", ["Dr. Marta Reis"]),
        ("Forward it to Tuula.", ["Tuula, service manager"]),
        ("Call the service desk", []),
        ("call Hati back", ["Hatice Demir"]),
        ("Tell Annecigim that I land at six", ["Hatice Demir"]),
        ("Play it again", []),
    ],
)
def test_contact_is_found_by_full_first_or_nickname(text: str, names: list[str]) -> None:
    assert named(text) == names


def test_company_in_another_language_tells_namesakes_apart() -> None:
    people = [Contact("Femke Bos", more={"organization": "Haven Ziekenhuis"}), Contact("Femke Vos")]
    first, second = match_names("Call Femke from the hospital", people)
    assert first.words > second.words


def test_words_of_a_name_stand_together() -> None:
    ann = [Contact("Goh Kian Ann"), Contact("Ann Goh")]
    matches = match_names("Ask Ann whether Goh is in", ann)
    assert not any(match.full for match in matches)


def test_position_and_possessive_tell_sender_from_recipient() -> None:
    sender, recipient = match_names(
        "Forward Anna's mail to Bruno", [Contact("Anna Berg"), Contact("Bruno Rossi")]
    )
    assert sender.possessive
    assert not recipient.possessive
    assert sender.end < recipient.start


def test_lower_case_word_weighs_less_than_a_capitalised_name() -> None:
    hall, centre = match_names("Ask Mike about the hall", [Contact("Mike Hall"), Contact("Town Hall")])
    assert hall.words > centre.words


@pytest.mark.parametrize("words", ["from Nordlicht", "at Nordlicht GmbH", "from the harbour"])
def test_company_or_role_tells_namesakes_apart(words: str) -> None:
    contacts = [
        Contact("Anna Weiss", "anna@nordlicht.example", more={"organization": "Nordlicht GmbH"}),
        Contact("Anna Schulz", relation="friend"),
    ]
    if "harbour" in words:
        contacts[0] = Contact("Anna Weiss", relation="pilot at the harbour")
    first, second = match_names(f"Call Anna {words}", contacts)
    assert first.words > second.words > 0
    assert first.end > second.end


@pytest.mark.parametrize("text", ["Call Amma", "when did i last speak to amma", "Read Kamu's mail"])
def test_stored_nickname_names_the_contact(text: str) -> None:
    contacts = [Contact("Murugan"), Contact("Kamala Krishnan", more={"nickname": "Amma, Kamu"})]
    murugan, kamala = match_names(text, contacts)
    assert not murugan.words
    assert kamala.words >= 1


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("give dr. araya a call", 5),
        ("Call Doctora Araya", 5),
        ("Call Mrs Araya", 5),
        ("I miss Araya", 7),
        ("call araya", 5),
    ],
)
def test_title_in_any_form_belongs_to_the_name(text: str, start: int) -> None:
    (match,) = match_names(text, [Contact("Dra. Paulina Araya")])
    assert match.words
    assert match.start == start


def test_title_in_another_form_tells_namesakes_apart() -> None:
    first, second = match_names("Call Dr. Araya", [Contact("Dra. Paulina Araya"), Contact("Juan Araya")])
    assert first.words > second.words
    first, second = match_names("Call Dr. Araya", [Contact("Dra. Paulina Araya"), Contact("Dr. Juan Araya")])
    assert first.words == second.words


def test_whole_name_needs_no_title() -> None:
    (match,) = match_names("Call Paulina Araya", [Contact("Dra. Paulina Araya")])
    assert match.full
