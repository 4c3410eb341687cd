"""Filled calls of several tools, and variants with another value."""

from tests.plan.calls.tiny_ranker import MAIL, inputs_for, tool_hits

from contextune.plan import PointerPlanner, plan_errors
from contextune.plan.calls.fill import fill_calls, likely_tools
from contextune.types import Item


def test_every_likely_tool_gets_a_call_that_fits_its_schema() -> None:
    inputs = inputs_for("Read me the kiln slots mail", MAIL)
    calls = fill_calls(PointerPlanner(), inputs, tool_hits("read_email", "flag_email", "delete_email"))
    assert {call.filled.tool.name for call in calls} == {"read_email", "flag_email", "delete_email"}
    assert all(not plan_errors(call.filled.plan, call.filled.tool) for call in calls)


def test_two_contacts_of_one_name_are_both_among_the_calls() -> None:
    calls = fill_calls(PointerPlanner(), inputs_for("Call Bruno"), tool_hits("call_contact"))
    assert {call.filled.plan.args["contact"] for call in calls} >= {"Bruno Kosuta", "Bruno Rossi"}
    best, *variants = calls
    assert not best.varied
    assert all(variant.varied == "contact" and variant.behind >= 0 for variant in variants)


def test_no_variant_repeats_a_call() -> None:
    calls = fill_calls(PointerPlanner(), inputs_for("Call Bruno"), tool_hits("call_contact", "call_number"))
    made = [(call.filled.plan.tool, str(call.filled.plan.args)) for call in calls]
    assert len(made) == len(set(made))


def test_number_of_variants_is_limited() -> None:
    inputs = inputs_for("Call Bruno")
    calls = fill_calls(PointerPlanner(), inputs, tool_hits("call_contact"), max_variants=0)
    assert [call.varied for call in calls] == [""]


def test_classifier_lifts_a_tool_that_the_ranker_puts_behind() -> None:
    hits = tool_hits("play_song", "play_album", "play_artist", "call_contact")
    known = {"play_song": 0.01, "play_album": 0.01, "play_artist": 0.01, "call_contact": 0.9}
    assert likely_tools(hits, known, 2)[0] == 3
    assert likely_tools(hits, {}, 2) == [0, 1]


def test_unlikely_tools_are_not_filled() -> None:
    hits = tool_hits("play_song", "call_contact", "read_email")
    known = {"play_song": 0.99, "call_contact": 0.005, "read_email": 0.0001}
    assert likely_tools(hits, known, 5) == [0]
    assert likely_tools(hits, dict.fromkeys(known, 1 / 3), 5) == [0, 1, 2]
    assert likely_tools([], known, 5) == []


def test_variant_chooses_later_arguments_again() -> None:
    inputs = inputs_for("Forward it to Bruno", MAIL)
    filled = PointerPlanner().fill_tool(inputs, tool_hits("forward_email")[0].tool)
    assert filled is not None
    choice = next(choice for choice in filled.choices if choice.parameter.name == "recipient")
    other = next(
        n for n, candidate in enumerate(choice.candidates) if candidate.value == "bruno.r@example.com"
    )
    variant = PointerPlanner().fill_variant(inputs, filled, "recipient", other)
    assert variant is not None
    assert variant.plan.args == {**filled.plan.args, "recipient": "bruno.r@example.com"}
    assert [c.parameter.name for c in variant.choices] == [c.parameter.name for c in filled.choices]


def test_title_by_an_artist_is_played_as_a_song_unless_an_album_is_said() -> None:
    hits = tool_hits("play_artist", "play_album", "play_song", "search_music")
    calls = fill_calls(PointerPlanner(), inputs_for("Play Hysteria by Muse again"), hits)
    assert [call.filled.plan.args for call in calls] == [{"song_name": "Hysteria", "artist": "Muse"}]
    calls = fill_calls(PointerPlanner(), inputs_for("Play the album Hysteria by Muse"), hits)
    assert {call.filled.tool.name for call in calls} == {"play_album"}


def test_optional_argument_may_be_left_out_in_a_variant() -> None:
    missed = Item.call(contact="Marta Reis", number="555-0150", direction="missed", date="2024-05-16T12:00")
    inputs = inputs_for("Show my call list", missed)
    calls = fill_calls(PointerPlanner(), inputs, tool_hits("get_call_history"))
    assert {} in [call.filled.plan.args for call in calls]


def test_reply_is_no_new_mail() -> None:
    hits = tool_hits("send_email", "reply_to_email", "forward_email")
    calls = fill_calls(PointerPlanner(), inputs_for("Reply to Marta, it works", MAIL), hits)
    assert {call.filled.tool.name for call in calls} == {"reply_to_email"}
    calls = fill_calls(
        PointerPlanner(), inputs_for("Reply to Marta, it works", MAIL), tool_hits("send_email")
    )
    assert {call.filled.tool.name for call in calls} == {"send_email"}
