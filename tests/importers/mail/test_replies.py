"""Quotations and signatures are cut from replies; what the author wrote stays."""

import pytest

from contextune.importers.mail.replies import is_reply, strip_quotes

OWN = "Thursday is fine.\n\nI bring talc."


@pytest.mark.parametrize(
    "line",
    [
        "On Thu, 16 May 2024 at 17:40, Marta Silva <marta@example.org> wrote:",
        "On Thu, 16 May 2024 at 17:40, Marta Silva with a long name <\nmarta@example.org> wrote:",
        "On Thu, 16 May 2024 at 17:40, Marta\n<marta@example.org>wrote:",
        "Am 16.05.24 um 17:40 schrieb Marta Silva:",
        "Am Do., 16. Mai 2024 um 17:40 Uhr schrieb Marta Silva <\nmarta@example.org>:",
        "Marta Silva <marta@example.org> schrieb am Do., 16. Mai 2024, 17:40:",
        "Le jeu. 16 mai 2024 à 17:40, Marta Silva <marta@example.org> a\nécrit :",
        "El jue, 16 may 2024 a las 17:40, Marta (<marta@example.org>) escribió:",
        "Em qui., 16 de mai. de 2024 às 17:40, Marta <marta@example.org> escreveu:",
        "Il giorno gio 16 mag 2024 alle ore 17:40 Marta <marta@example.org> ha scritto:",
        "Op do 16 mei 2024 om 17:40 schreef Marta <marta@example.org>:",
        "Den tors 16 maj 2024 kl 17:40 skrev Marta <marta@example.org>:",
        "W dniu 16.05.2024 o 17:40, Marta pisze:",
        "Dne 16. 5. 2024 v 17:40 Marta napsal(a):",
        "чт, 16 мая 2024 г. в 17:40, Marta <marta@example.org> пишет:",
        "to 16. toukok. 2024 klo 17.40 Marta (marta@example.org) kirjoitti:",
        "16 May 2024 Per 17:40 tarihinde Marta <marta@example.org> şunu yazdı:",
        "于 2024年5月16日 17:40，Marta写道：",
        "2024年5月16日(木) 17:40 Marta <marta@example.org>:",
        "Quoting Marta <marta@example.org>:",
    ],
)
def test_attribution_above_a_quotation_is_cut(line: str) -> None:
    quotation = "> Thursday or Friday?\n>\n> Marta\n"
    assert strip_quotes(f"{OWN}\n\n{line}\n\n{quotation}") == OWN
    assert strip_quotes(f"{line}\n{quotation}\n{OWN}") == OWN  # the answer is below
    assert strip_quotes(f"{OWN}\n\n{line}\n{quotation}\nP.S. And glaze.") == f"{OWN}\n\nP.S. And glaze."


@pytest.mark.parametrize(
    "copy",
    [
        "-----Original Message-----\nFrom: Marta\nSubject: Kiln",
        "------------------------------\nFrom: Marta\nDate: 16 May 2024\nSubject: Kiln",
        "-----Ursprüngliche Nachricht-----\nVon: Marta\nBetreff: Ofen",
        "____________________\nFrom: Marta <marta@example.org>\nSent: Thursday\nTo: Ines\nSubject: Kiln",
        "Von: Marta <marta@example.org>\nGesendet: Donnerstag, 16. Mai 2024 17:40\nAn: Ines\nBetreff: Ofen",
        "De : Marta <marta@example.org>\nEnvoyé : jeudi 16 mai 2024\nÀ : Ines\nObjet : Four",
        "*From:* Marta <marta@example.org>\n*Sent:* Thursday\n*To:* Ines",
        "On 16 May 2024, at 17:40, Marta Silva <marta@example.org> wrote:",
    ],
)
def test_unquoted_copy_is_cut_from_replies_only(copy: str) -> None:
    text = f"{OWN}\n\n{copy}\n\nThursday or Friday?"
    assert strip_quotes(text, reply=True) == OWN
    assert strip_quotes(text) == text
    whole = f"{copy}\n\nThursday or Friday?"
    assert strip_quotes(whole, reply=True) == whole  # nothing else would be left


@pytest.mark.parametrize(
    "text",
    [
        "My notes:\n- talc\n- silica\n\nMarta wrote:\nshe likes celadon",
        "As Rui wrote:\n\nfire at 10:30",
        "Two things:\n1. a <b@example.org>:\nask him",
        "From: the kiln\nTo: the shelf\nis a long way",
        "Das schrieb ich am Montag:\n\nnichts",
        "Sent from my desk: three boxes of talc, two of silica, one of ash, and old glaze notes",
        "The temperature > 1200\n-- and so on",
        "Here it is.\n\nSent from my desk, which is easier than from my phone.",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert strip_quotes(text, reply=True) == text


@pytest.mark.parametrize(
    "line",
    [
        "Sent from my iPhone", "Get Outlook for iOS<https://example.com/o>", "Von meinem iPhone gesendet",
        "Envoyé de mon iPhone", "Enviado desde mi iPhone", "Inviato da iPhone", "Skickat från min iPhone",
        "Отправлено с iPhone", "iPhoneから送信", "发自我的iPhone",
    ],
)  # fmt: skip
def test_line_of_the_mail_program_is_cut(line: str) -> None:
    assert strip_quotes(f"{OWN}\n\n{line}") == OWN
    assert strip_quotes(f"{OWN}\n\n{line}\n\nOn 16 May 2024, Marta wrote:\n> Thursday?") == OWN
    assert strip_quotes(line) == line


def test_footer_of_a_mailing_list_is_cut() -> None:
    footer = f"{'_' * 47}\npotters mailing list\npotters@example.org\nhttps://example.org/potters"
    assert strip_quotes(f"{OWN}\n\n{footer}") == OWN


def test_inline_answers_stay_in_order() -> None:
    text = "Hello,\n\n> Thursday?\n\nYes.\n\n> How much talc?\n\nTwo bags.\n-- \nInes\nPotter"
    assert strip_quotes(text) == "Hello,\n\nYes.\n\nTwo bags."


@pytest.mark.parametrize(
    ("subject", "refers", "reply"),
    [
        ("Re: Kiln", False, True), ("AW: Ofen", False, True), ("Kiln", True, True), ("Kiln", False, False),
        ("Fwd: Kiln", True, False), ("WG: Ofen", True, False), ("RE[2]: Kiln", False, True),
        ("Research: kilns", False, False),
    ],
)  # fmt: skip
def test_replies_are_told_from_forwarded_mails(subject: str, refers: bool, reply: bool) -> None:
    assert is_reply(subject, refers=refers) == reply
