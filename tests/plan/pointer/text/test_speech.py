"""Messages that a request dictates."""

import pytest

from contextune.plan.pointer.text.direct_speech import turn_pronouns
from contextune.plan.pointer.text.speech import find_message, recipient_gender


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Reply to Lars that it builds now", "It builds now."),
        ("Write to Dr. Reis that I cannot come", "I cannot come."),
        ("Text Lars that I'm late", "I'm late."),
        ("Reply to my sister, I'll be there.", "I'll be there."),
        ("Send Mehmet a mail, the tarp is under the boat", "The tarp is under the boat."),
        ("drop Rangi a line, we meet at the jetty", "We meet at the jetty."),
        ("Email Rangi, the ferry is cancelled", "The ferry is cancelled."),
        ("Tell her she can come.", "You can come."),
        ("Tell him he's late and his car is blocking mine", "You're late and your car is blocking mine."),
        ("Answer her: second half's mine, planes or no planes.", "Second half's mine, planes or no planes."),
        ("Send Marisela an email, say I'm bringing two grips", "I'm bringing two grips."),
        ("Let the Father know in writing I'll do my part", "I'll do my part."),
        ("Tell my brother yes to seven", "Yes to seven."),
        ("Let Rodrigo know by email that I'm sick", "I'm sick."),
        ("Tell her in an e-mail I'm free", "I'm free."),
        ("Tell her by mail to come", "Please come."),
        ("Tell him by mail is fine", "By mail is fine."),
        ("Write to Rodrigo in an e-mail that I'm sick", "I'm sick."),
        ("Tell her I'll call her Friday", "I'll call you Friday."),
        ("Tell her I can take her Friday shift", "I can take your Friday shift."),
        ("Ask her if she can come on Friday", "Can you come on Friday?"),
        ("Ask Bob to bring the keys", "Please bring the keys."),
        ("Tell him to join bridge three", "Please join bridge three."),
        ("Ask Pasquale where the cab is", "Where is the cab?"),
        ("Ask my brother when the train leaves.", "When does the train leave?"),
        ("Let my partner at the card table know the tea is ready", "The tea is ready."),
        ("Thank Anna for the flowers.", "Thank you for the flowers."),
        ("Remind Mehmet to pick up Elif", "Please pick up Elif."),
        ("Ask Rangi for the trailer", "Could I have the trailer?"),
        ("Ask her for her soup recipe.", "Could I have your soup recipe?"),
        ("Email Felix that I can't ride, do you hear?", "I can't ride, do you hear?"),
        ("The kiln is stuck at 600, let my partner know", "The kiln is stuck at 600."),
        ("I can't fetch her tonight. Please tell her.", "I can't fetch you tonight."),
        ("We missed the 9.40 and let Dr Reis know please", "We missed the 9.40."),
        ("No to the second coat, tell him to leave it", "No to the second coat. Please leave it."),
        ("Answer that the glaze is dry", "The glaze is dry."),
        ("Reply we're bringing the tent", "We're bringing the tent."),
        ("My tutor should know that I passed", "I passed."),
        ("The caterer needs to be told we're forty now", "We're forty now."),
    ],
)
def test_reported_speech_becomes_direct(text: str, message: str) -> None:
    assert find_message(text) == message


def test_channel_after_a_name_is_no_part_of_the_message() -> None:
    assert find_message("Tell Andrea by mail that I'm free", [(5, 11)]) == "I'm free."
    assert find_message("Tell Andrea by email I'm free", [(5, 11)]) == "I'm free."


def test_namesakes_of_the_recipient_are_nobody_else() -> None:
    text, names = "Email Camila Soto that I can take her shift", [(6, 12), (6, 17)]
    assert find_message(text, names, people=names) == "I can take your shift."
    stranger = "email camila soto that pia lost her keys"
    assert find_message(stranger, names, people=names) == "Pia lost her keys."
    others = [*names, (23, 27)]
    assert find_message("Email Camila Soto that Rosa wants her shift", others, people=others) == (
        "Rosa wants her shift."
    )


def test_message_begins_after_the_longest_name() -> None:
    names = [(5, 9), (5, 18)]  # two people are called Mere
    assert find_message("Tell Mere Tamihana the third suits us", names) == "The third suits us."


@pytest.mark.parametrize(
    "text",
    [
        "Reply to Lars.",
        "Yes to ten minutes.",
        "Drop her a line about that plane.",
        "Reply that one",
        "Cancel the tasting and let them know",
        "I should know that song by now",
    ],
)
def test_request_without_a_message_has_none(text: str) -> None:
    assert find_message(text) is None


def test_subject_of_the_mail_is_no_part_of_the_message() -> None:
    text = "Answer that Visit to 4th grade: thanks mail: sorry, I'm away that day."
    start = text.index("Visit")
    assert (
        find_message(text, [(start, start + len("Visit to 4th grade: thanks"))])
        == "Sorry, I'm away that day."
    )


def test_pronoun_is_turned_only_for_a_recipient_of_known_gender() -> None:
    text = "Email Pooja that the parcel is posted and she owes me one."
    assert find_message(text) == "The parcel is posted and she owes me one."
    assert find_message(text, gender="she") == "The parcel is posted and you owe me one."
    assert recipient_gender("younger sister") == "she"
    assert recipient_gender("brother of my wife") == ""
    assert recipient_gender(None) == ""


def test_verbs_agree_with_you() -> None:
    assert turn_pronouns("She is late, she has her keys and he waits for her.", "she") == (
        "You are late, you have your keys and he waits for you."
    )
    assert turn_pronouns("They are late.", "they") == "You are late."


def test_short_answer_before_its_recipient_is_the_message() -> None:
    assert find_message("Reply yes to Jan's mail about the offsite") == "Yes."
    assert find_message("Write thank you to Marta") == "Thank you."


def test_quoted_message_follows_its_recipient() -> None:
    assert find_message('Send Eoin "x-rays attached"', [(5, 9)]) == "X-rays attached."
    assert find_message("Write to Eoin: “see you at six”.", [(9, 13)]) == "See you at six."
    assert find_message('Send Eoin the mail "Rota"', [(5, 9)]) is None
    assert find_message('Answer the mail about the rota with "fine by me"') == "Fine by me."
