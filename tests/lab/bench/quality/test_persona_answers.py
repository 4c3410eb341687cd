"""Answers as they are written for others to judge."""

from dataclasses import replace

from tests.tools.querygen.fake_writer import Writer

from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.lab.bench.quality.persona_answers import answer_persona
from contextune.tools import QueryGenerator


def test_what_a_model_wrote_is_written_down() -> None:
    persona = read_persona(asset("personas/a01.json"), gold=False)
    short = replace(persona, queries=persona.queries[:1])
    (plain,) = answer_persona(short).values()
    assert set(plain) == {"ranking", "tools", "plan"}
    (answer,) = answer_persona(
        short, querygen=QueryGenerator(Writer("- Locks a door\n- Plays a song"))
    ).values()
    assert set(answer) == {*plain, "queries"}
    assert answer["queries"] == ["Locks a door", "Plays a song"]
    assert answer["ranking"] == plain["ranking"]
    assert "play_song" in answer["tools"][:3]
