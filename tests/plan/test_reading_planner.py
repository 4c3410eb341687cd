"""Plans over a catalogue of one's own: tools and values are read, none is known by name."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from contextune import Item, Request, SQLiteStore, Tool, Tuner, User
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.reading import with_share
from contextune.types import Contact

NOW = datetime(2026, 9, 17, 11, 30)
TEXT = {"type": "string"}


def tool(name: str, description: str, app: str, required: tuple[str, ...] = (), **parameters: object) -> Tool:
    schema = {"type": "object", "properties": dict(parameters), "required": list(required)}
    return Tool(name, description, app=app, parameters=schema)


OWN_TOOLS = [
    tool("mail_open", "Open one message and return its text.", "post", ("subject",), subject=TEXT),
    tool("mail_pass_on", "Send a message on to somebody.", "post", ("subject", "to"), subject=TEXT, to=TEXT),
    tool("mail_remove", "Move a message to the bin.", "post", ("subject",), subject=TEXT),
    tool("appointment_show", "Details of one appointment.", "agenda", ("title",), title=TEXT),
    tool("ring", "Place a phone call.", "handset", ("person",), person=TEXT),
    tool("restart_pod", "Restart a pod of the cluster.", "cluster", ("pod",), pod=TEXT),
    tool("pod_logs", "The last lines a pod has logged.", "cluster", ("pod",), pod=TEXT),
    tool("lamp_on", "Switch a lamp on.", "house", ("lamp",), lamp=TEXT),
]


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    """A store that is large enough to be read, and a catalogue of one's own."""
    with SQLiteStore(tmp_path_factory.mktemp("reading") / "s.db") as store:
        store.put_user(
            User(
                "me",
                {"email": "jonas@posteule.example"},
                contacts=(Contact("Anke Siebert", "anke@bund.example"),),
            )
        )
        mails = [
            Item.mail(
                subject=f"Weekly figures {number}",
                date=NOW - timedelta(days=number + 1),
                author=f"sender{number}@firm.example",
                content=f"The figures of week {number} are attached as always.",
            )
            for number in range(120)
        ]
        report = Item.mail(
            subject="Mould report Schudomastr. 23",
            date=NOW - timedelta(days=3),
            author="zander@gutachten.example",
            content="The mould comes from a thermal bridge in the concrete slab, not from the airing.",
        )
        store.put_items("me", [*mails, report])
        yield Tuner(store, tools=OWN_TOOLS)


def test_a_question_about_a_mail_finds_the_mail_and_the_tool_that_opens_it(tuner: Tuner) -> None:
    answer = tuner.answer(Request("what does the mould report give as the cause", "me", time=NOW))
    assert answer.context[0].item.title == "Mould report Schudomastr. 23"
    assert answer.context[0].probability is not None
    assert "post/mail_open" in [hit.tool.id for hit in answer.tools[:2]]


def test_a_plan_needs_confirmation_before_it_sends(tuner: Tuner) -> None:
    plan = tuner.answer(Request("forward the mould report to Anke Siebert", "me", time=NOW)).plan
    assert plan is not None
    assert not plan.ready


def test_a_personal_value_is_no_pod(tuner: Tuner) -> None:
    plan = tuner.answer(Request("restart the pod api-7", "me", time=NOW)).plan
    assert plan is not None
    assert not any("@" in str(value) or "figures" in str(value) for value in plan.args.values())


def test_tools_alone_come_in_the_order_of_an_answer(tuner: Tuner) -> None:
    request = Request("what does the mould report give as the cause", "me", time=NOW)
    answer = tuner.answer(request, 5)
    found = tuner.tools(request, 3, context=answer.context)
    assert [hit.tool.id for hit in found.hits][:2] == [hit.tool.id for hit in answer.tools][:2]


def test_hidden_tools_are_not_found_by_the_kind_of_an_item(tuner: Tuner) -> None:
    retriever = ToolRetriever(OWN_TOOLS, tuner.embedder)
    visible = tuner.with_tools(retriever, ToolFilter(servers=["agenda", "handset", "cluster", "house"]))
    found = visible.tools(Request("what does the mould report give as the cause", "me", time=NOW), 8)
    assert {hit.tool.app for hit in found.hits}.isdisjoint({"post"})


def test_a_tool_is_less_probable_to_serve_than_in_the_training_data() -> None:
    assert with_share(0.5) < 0.5
    assert with_share(0.99) > 0.95
    assert with_share(0.3) < with_share(0.6)
    assert 0 <= with_share(0.0) <= with_share(1.0) <= 1
