"""Real commands are mapped to acceptable tools, and judged by tool and refusal."""

import gzip
import json
from pathlib import Path

import pytest

from contextune.errors import InvalidDataError
from contextune.tools import bundled_toolbox
from contextune.types import Turn
from contextune_lab.commands import CommandResult, ask_commands, command_table, read_slurp, read_smcalflow
from contextune_lab.commands.command import EITHER, SERVED, UNSERVED, Command
from contextune_lab.commands.measure import sample
from contextune_lab.commands.slurp import MAY_REFUSE, TOOLS, UNSERVED_INTENTS
from contextune_lab.commands.smcalflow import RULES, classify
from contextune_lab.renamed_toolbox import renamed_toolboxes

NAMES = {tool.name for tool in bundled_toolbox()}


def test_mapped_tools_are_bundled_and_intents_are_mapped_once() -> None:
    mapped = {tool for tools in (*TOOLS.values(), *MAY_REFUSE.values()) for tool in tools.split()}
    mapped |= {tool for _, tools, _ in RULES for tool in tools}
    assert mapped <= NAMES
    assert not TOOLS.keys() & MAY_REFUSE.keys()
    assert not UNSERVED_INTENTS & {*TOOLS, *MAY_REFUSE}


def test_slurp_is_read_by_intent(tmp_path: Path) -> None:
    rows = [
        ("weather_query", "will it rain"),
        ("alarm_set", "wake me up at ten"),
        ("iot_coffee", "make coffee"),
    ]
    lines = [
        json.dumps({"id": number, "sentence": text, "intent": intent})
        for number, (intent, text) in enumerate([*rows, ("query", "what")])
    ]
    (tmp_path / "utterances.jsonl").write_text("\n".join(lines), encoding="utf-8")
    commands = read_slurp(tmp_path)
    assert [(command.text, command.part) for command in commands] == [
        ("will it rain", SERVED),
        ("wake me up at ten", EITHER),
        ("make coffee", UNSERVED),
    ]
    with pytest.raises(InvalidDataError, match="not a file of SLURP"):
        read_slurp(tmp_path / "nowhere")


def test_smcalflow_is_read_with_the_turns_before(tmp_path: Path) -> None:
    turns = [
        {
            "user": "Who is my boss?",
            "agent": "It is Kim.",
            "program": "(Yield (FindManager (toRecipient (CurrentUser))))",
        },
        {"user": "yes", "agent": "Done.", "program": "(Yield (Execute (^(Dynamic) ConfirmAndReturnAction)))"},
        {
            "user": "Cancel lunch",
            "agent": "This one?",
            "program": "(Yield (DeleteCommitEventWrapper (DeletePreflightEventWrapper (Event.id (singleton "
            "(QueryEventResponse.results (FindEventWrapperWithDefaults x)))))))",
        },
    ]
    with gzip.open(tmp_path / "dialogues.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "d", "turns": turns}) + "\n")
    boss, cancel = read_smcalflow(tmp_path)
    assert (boss.part, boss.history) == (UNSERVED, ())
    assert cancel.tools == {"cancel_event"}
    assert len(cancel.history) == 4
    assert cancel.history[:2] == (Turn("user", "Who is my boss?"), Turn("assistant", "It is Kim."))
    assert classify("(FenceMultiAction)") is None


def test_sample_is_even() -> None:
    commands = [Command(str(number), "hello", "x", frozenset()) for number in range(10)]
    assert [command.id for command in sample(commands, 4)] == ["0", "2", "5", "7"]
    assert sample(commands, 20) == commands


def test_refusals_and_tools_are_judged() -> None:
    weather = Command("1", "will it rain", "w", frozenset(["get_weather"]))
    alarm = Command("2", "wake me up", "a", frozenset(["create_reminder"]), may_refuse=True)
    coffee = Command("3", "make coffee", "c", frozenset(), may_refuse=True)
    assert CommandResult(weather, "get_weather", "get_weather", True).right
    assert not CommandResult(weather, "get_weather", None, False).right
    assert CommandResult(alarm, None, None, False).right
    assert CommandResult(coffee, None, None, False).right
    assert not CommandResult(coffee, None, "search_web", True).right
    table = command_table(
        "commands-x",
        [
            CommandResult(weather, "get_weather", None, False),
            CommandResult(weather, "get_weather", "get_weather", True),
            CommandResult(coffee, "search_web", "search_web", True),
        ],
    )
    values = dict(table.values())
    assert values["commands-x/served/right"] == 50
    assert values["commands-x/served/refused"] == 50
    assert values["commands-x/unserved/made wrongly"] == 100


def test_renamed_tools_are_judged_by_their_original_names() -> None:
    command = Command("1", "what's the weather like in Lisbon tomorrow", "w", frozenset(["get_weather"]))
    results = ask_commands([command] * 2, renamed_toolboxes()[:2])
    assert all(result.first in NAMES for result in results)
