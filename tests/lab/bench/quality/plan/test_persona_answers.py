"""Answers of the complete pipeline for persona files."""

from dataclasses import replace

from tests.tools.querygen.fake_writer import FixedModel

from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.tools import QueryGenerator
from contextune_lab.bench.quality.plan.persona_answers import answer_persona


def test_generated_queries_are_in_the_answer() -> None:
    persona = read_persona(asset("personas/a01.json"), gold=False)
    one_query = replace(persona, queries=persona.queries[:1])
    (without_querygen,) = answer_persona(one_query).values()
    assert set(without_querygen) == {"ranking", "tools", "plan"}
    (answer,) = answer_persona(
        one_query, querygen=QueryGenerator(FixedModel("- Locks a door\n- Plays a song"))
    ).values()
    assert set(answer) == {*without_querygen, "queries"}
    assert answer["queries"] == ["Locks a door", "Plays a song"]
    assert answer["ranking"] == without_querygen["ranking"]
    assert answer["tools"] != without_querygen["tools"]
