"""Act, confirm, ask or none: by probability, cost, rivals, missing arguments and harm."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.policy.readings import BY_ID, TOOLS, call, decide, question

from contextune.errors import InvalidRequestError
from contextune.plan.policy import COSTS, Policy, Readings
from contextune.plan.policy.policy import ACT, CONFIRM
from contextune.types import Annotations, Argument, Plan, Source, Tool

READ = call("read_note", 0.6, title="Kiln slots")
WRITE = call("pin_note", 0.6, title="Kiln slots")
SEND = call("call_contact", 0.6, contact="Bruno Kosuta")
BY_COST = dict(zip(COSTS, (READ, WRITE, SEND), strict=True))


def sure(plan: Plan, probability: float) -> Plan:
    return replace(plan, confidence=probability)


def test_same_doubt_is_acted_on_by_cost() -> None:
    plans = (READ, WRITE, SEND)
    assert [decide(sure(plan, 0.75)).decision for plan in plans] == ["act", "confirm", "confirm"]
    assert [decide(sure(plan, 0.82)).decision for plan in plans] == ["act", "act", "confirm"]
    assert [decide(sure(plan, 0.95)).decision for plan in plans] == ["act", "act", "confirm"]
    assert [decide(sure(plan, 0.2)).decision for plan in plans] == ["ask"] * 3
    assert list(ACT.values()) == sorted(ACT.values())
    assert all(CONFIRM[cost] < ACT[cost] for cost in COSTS)


def test_thresholds_are_inclusive() -> None:
    for cost, plan in BY_COST.items():
        assert decide(sure(plan, ACT[cost])).decision == ("confirm" if plan is SEND else "act")
        assert decide(sure(plan, ACT[cost] - 0.001)).decision == "confirm"
        assert decide(sure(plan, CONFIRM[cost])).decision == "confirm"
        assert decide(sure(plan, CONFIRM[cost] - 0.001)).decision == "ask"


def test_only_act_is_ready_and_has_no_question() -> None:
    for plan in (decide(READ), decide(SEND), decide(sure(SEND, 0.1)), decide(SEND, none=0.9)):
        assert plan.ready == (plan.decision == "act")
        assert (plan.question is None) == plan.ready
    assert not READ.ready  # nobody has decided
    assert decide(SEND).accept().ready


def test_rival_reading_is_asked_about() -> None:
    other = call("call_contact", 0.35, contact="Bruno Rossi")
    plan = decide(sure(SEND, 0.6), other)
    assert (plan.decision, plan.args) == ("ask", {"contact": "Bruno Kosuta"})
    assert plan.question is not None
    assert [option.plan.args["contact"] for option in plan.question.options] == [
        "Bruno Kosuta",
        "Bruno Rossi",
    ]
    chosen = plan.question.choose(1)
    assert (chosen.args, chosen.ready) == ({"contact": "Bruno Rossi"}, True)
    # a far less probable reading is not worth a question, unless both go by the same name
    assert decide(sure(SEND, 0.6), call("call_contact", 0.1, contact="Ana Dias")).decision == "confirm"
    assert decide(sure(SEND, 0.6), sure(other, 0.1)).decision == "ask"
    assert decide(sure(SEND, 0.6), sure(other, 0.02)).decision == "confirm"
    # nor is a rival of a call that is sure enough
    assert decide(sure(SEND, 0.9), sure(other, 0.08)).decision == "confirm"
    # the same call twice is one reading
    assert decide(sure(SEND, 0.6), sure(SEND, 0.35)).decision == "confirm"


def test_question_has_at_most_three_options_most_probable_first() -> None:
    others = [call("read_note", p, title=name) for p, name in ((0.2, "d"), (0.28, "b"), (0.25, "c"))]
    plan = decide(sure(READ, 0.3), *others)
    assert plan.question is not None
    assert [option.label for option in plan.question.options] == ["Kiln slots", "b", "c"]


def test_call_that_is_not_the_most_probable_is_never_acted_on() -> None:
    """As when a language model contradicts a planner that is sure."""
    policy = Policy(act={"read": 0.1})
    assert decide(sure(READ, 0.2), call("read_note", 0.7, title="b"), policy=policy).decision == "ask"


def test_missing_argument_is_asked_for_however_sure_the_tool_is() -> None:
    plan = decide(call("call_contact", 1.0, "contact"))
    assert (plan.decision, plan.ready) == ("ask", False)
    assert plan.question is not None
    assert (plan.question.text, plan.question.argument) == ("Who should I call?", "contact")
    assert not plan.accept().ready  # the user cannot agree to half a call


def test_request_that_no_tool_serves_is_refused() -> None:
    plan = decide(sure(READ, 0.45), none=0.55)
    assert (plan.decision, plan.ready) == ("none", False)
    assert plan.question is not None
    assert plan.question.text.startswith("No tool here can do that.")
    assert plan.question.options[0].plan.name == "read_note"
    for nearest in (sure(READ, 0.02), sure(SEND, 0.45)):  # absurd, or costly
        refused = decide(nearest, none=0.55)
        assert refused.question is not None
        assert (refused.question.text, refused.question.options) == ("No tool here can do that.", ())
    assert decide(sure(READ, 0.71), none=0.29).decision == "act"
    assert decide(call("call_contact", 0.3, "contact"), none=0.7).decision == "none"


def test_request_is_refused_if_that_is_clearly_more_probable_than_any_call() -> None:
    assert decide(sure(READ, 0.2), none=0.35).decision == "none"
    assert decide(sure(READ, 0.3), none=0.35).decision == "ask"
    assert decide(sure(READ, 0.1), sure(SEND, 0.3), none=0.35).decision == "ask"
    assert decide(sure(READ, 0.1), none=0.25).decision == "ask"
    assert decide(sure(READ, 0.1), none=0.9, policy=Policy(none=2)).decision == "ask"


def test_claim_to_be_destructive_needs_confirmation_even_if_sure() -> None:
    harmful = replace(TOOLS["read_note"], annotations=Annotations(destructive=True))
    plan = Policy().decide(Readings((sure(READ, 0.99),)), lambda _: harmful)
    assert plan is not None
    assert plan.decision == "confirm"
    harmless = replace(TOOLS["pin_note"], annotations=Annotations(read_only=True, destructive=False))
    strict, trusting = Policy(), Policy(trusted=frozenset(["Notes"]))
    readings = Readings((sure(WRITE, 0.75),))
    decisions = [policy.decide(readings, lambda _: harmless) for policy in (strict, trusting)]
    assert [plan.decision for plan in decisions if plan] == ["confirm", "act"]


def test_users_of_the_library_set_thresholds_and_costs() -> None:
    assert decide(READ, policy=Policy(act={"read": 0.9})).decision == "confirm"
    assert decide(WRITE, policy=Policy(act={"write": 0.5})).decision == "act"
    assert decide(sure(WRITE, 1.0), policy=Policy(act={"write": 2})).decision == "confirm"
    assert decide(READ, policy=Policy(costs={"read_note": "send"})).decision == "confirm"
    assert decide(READ, policy=Policy(costs={"Notes/read_note": "send"})).decision == "confirm"
    assert decide(READ, none=0.3, policy=Policy(none=0.3)).decision == "none"
    partly = Policy(act={"read": 0.9})
    assert partly.act == {**ACT, "read": 0.9}


def test_settings_as_text() -> None:
    text = " act.send=0.9, confirm.read = 0.1,none=0.6,rival=0.3,cost.Notes/read_note=write "
    assert Policy.parse(text) == Policy(
        {"send": 0.9}, {"read": 0.1}, none=0.6, rival=0.3, costs={"Notes/read_note": "write"}
    )
    assert Policy.parse("") == Policy()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("act.sned=0.9", "unknown policy setting 'act.sned=0.9'"),
        ("0.9", "unknown policy setting '0.9'"),
        ("act.send=high", "'high' is not a number"),
        ("none=-1", "none=-1.0"),
        ("none=nan", "none=nan"),
        ("cost.read_note=cheap", "unknown cost 'cheap'"),
    ],
)
def test_invalid_settings_are_errors(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        Policy.parse(text)


def test_unknown_cost_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="unknown cost 'delete'"):
        Policy(act={"delete": 0.9})  # pyright: ignore[reportArgumentType]


def test_readings_from_pairs_are_sorted() -> None:
    readings = Readings.from_pairs([(READ, 0.2), (SEND, 0.7)], none=0.1)
    assert [(plan.name, plan.confidence) for plan in readings.plans] == [
        ("call_contact", 0.7),
        ("read_note", 0.2),
    ]
    assert readings.none == 0.1


def test_no_reading_is_no_plan() -> None:
    assert Policy().decide(Readings(), BY_ID.__getitem__) is None


PROBABILITY = st.floats(0, 1)


@given(probability=PROBABILITY, rival=PROBABILITY, none=PROBABILITY, cost=st.sampled_from(COSTS))
def test_act_implies_enough_certainty(probability: float, rival: float, none: float, cost: str) -> None:
    plan = BY_COST[cost]  # pyright: ignore[reportArgumentType]
    decided = decide(sure(plan, probability), call("skip_track", rival), none=none)
    if decided.ready:
        assert cost != "send"
        assert probability >= max(ACT[cost], rival)  # pyright: ignore[reportArgumentType]
        assert none < 0.5
    else:
        assert decided.question is not None
        assert decided.question.text


def test_part_of_another_value_is_no_choice() -> None:
    tool = TOOLS["get_directions"].id
    whole = Argument("Oficina Reis, 3 Rua do Sol", (Source("item", "e1", "location"),))
    part = Argument("Rua do Sol", (Source("item", "e1", "location", "Rua do Sol"),))
    other = Argument("Rua da Paz", (Source("item", "e1", "location", "Rua da Paz"),))
    plans = [Plan(tool, {"destination": value}, 0.4, name="get_directions") for value in (whole, part, other)]
    assert Readings(tuple(plans)).others() == (plans[2],)
    assert Readings((plans[1], plans[0])).others() == ()


def test_titles_of_two_items_are_a_choice_even_if_one_is_part_of_the_other() -> None:
    plans = [
        Plan(TOOLS["read_note"].id, {"title": Argument(title, (Source("item", title, "title"),))}, 0.4)
        for title in ("Kiln", "Kiln slots")
    ]
    assert Readings(tuple(plans)).others() == (plans[1],)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(act={"read": 0.0, "write": 0.0, "send": 0.0}),
        Policy(trusted=frozenset(["Own", "PhoneCall"])),
        Policy(costs=dict.fromkeys(["Own/send_letter", "PhoneCall/call_contact", "send_letter"], "read")),
    ],
    ids=["thresholds", "trust", "costs"],
)
@pytest.mark.parametrize(
    "tool",
    [
        TOOLS["call_contact"],
        TOOLS["cancel_event"],
        Tool("send_letter", "Sends a letter.", app="Own", annotations=Annotations(read_only=True)),
        Tool("create_event", "Creates an event. Guests are notified.", app="Own"),
        Tool("mbway_request", "Asks a contact for money.", app="Own"),
        Tool("unfriend", "", app="Own"),
    ],
    ids=lambda tool: tool.name,
)
def test_what_cannot_be_called_back_is_confirmed_whatever_the_settings(policy: Policy, tool: Tool) -> None:
    plan = policy.decide(Readings((Plan(tool.id, confidence=1.0),)), lambda _: tool)
    assert plan is not None
    assert plan.decision == "confirm"


def test_act_is_more_probable_than_not() -> None:
    eager = Policy(act={"read": 0.0})
    assert decide(sure(READ, 0.49), policy=eager).decision == "confirm"
    assert decide(sure(READ, 0.5), policy=eager).decision == "act"


def test_steps_are_made_only_if_all_together_are_probable_enough() -> None:
    plans = [decide(sure(READ, 0.75)), decide(call("search_web", 0.75, query="clay"))]
    assert [plan.decision for plan in plans] == ["act", "act"]
    steps = Policy().decide_steps(plans, BY_ID.__getitem__)
    assert [plan.decision for plan in steps] == ["confirm", "act"]
    assert steps[0].question is not None
    assert steps[0].question.text == "Read the note “Kiln slots”?"
    likely = [replace(plan, confidence=0.95) for plan in plans]
    assert Policy().decide_steps(likely, BY_ID.__getitem__) == tuple(likely)


@given(st.lists(PROBABILITY, min_size=1, max_size=5), PROBABILITY)
def test_probabilities_add_up_to_one_at_most(probabilities: list[float], none: float) -> None:
    plans = [call("read_note", p, title=str(n)) for n, p in enumerate(probabilities)]
    readings = Readings(tuple(plans), none).within_one()
    assert sum(plan.confidence for plan in readings.plans) + none <= 1 + 1e-9
    decided = decide(*plans, none=none)
    assert decided.confidence == readings.plans[0].confidence
    if decided.question is not None:
        offered = [option.plan.confidence for option in decided.question.options]
        assert offered == sorted(offered, reverse=True)


def test_refusal_says_no_more_than_is_likely() -> None:
    unlikely = question(sure(READ, 0.2), none=0.35)
    assert unlikely.text == "No call here is sure enough. The nearest would be to read the note."
    readings = Readings((sure(READ, 0.8),), 0.16, unknown_words=("glimmer", "wug"), refused=True)
    plan = Policy().decide(readings, BY_ID.__getitem__)
    assert plan is not None
    assert plan.question is not None
    assert plan.decision == "none"
    assert plan.question.text == (
        "No call here is sure enough. Nothing here knows “glimmer” or “wug”. The nearest would be to read"
        " the note."
    )
    certain = Policy().decide(replace(readings, none=0.84), BY_ID.__getitem__)
    assert certain is not None
    assert certain.question is not None
    assert certain.question.text.startswith("No tool here can do that. Nothing here knows “glimmer”")


def test_other_languages_are_never_acted_on() -> None:
    readings = Readings((sure(READ, 0.99),), language="German")
    plan = Policy().decide(readings, BY_ID.__getitem__)
    assert plan is not None
    assert plan.question is not None
    assert (plan.decision, len(plan.question.options)) == ("confirm", 1)
    assert plan.question.text == (
        "This looks like German, and calls are planned for English. Read the note “Kiln slots”?"
    )


def test_words_that_are_left_out_are_named() -> None:
    readings = Readings((sure(WRITE, 0.99),), left_out=("bring", "key"))
    plan = Policy().decide(readings, BY_ID.__getitem__)
    assert plan is not None
    assert plan.question is not None
    assert plan.decision == "confirm"
    assert plan.question.text == "Pin the note “Kiln slots”? It leaves out “bring” and “key”."
