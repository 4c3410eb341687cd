"""Prompts of the data generation: what they may know."""

from dataclasses import replace

from contextune.context.chain_of_thought import thought_messages
from contextune.datasets import Gold, bundled_persona_file, read_persona
from contextune_lab.generate.prompts import cot_messages
from contextune_lab.generate.query_rules import thought_faults

PERSONA = read_persona(bundled_persona_file("a01"))
UNLABELLED = Gold(relevant={}, cot="")


def test_chain_of_thought_is_asked_for_as_at_run_time() -> None:
    for query in PERSONA.queries:
        assert cot_messages(PERSONA, query) == thought_messages(PERSONA.request(query))
        assert cot_messages(PERSONA, query) == cot_messages(PERSONA, replace(query, gold=UNLABELLED))


def test_correction_of_a_chain_of_thought_does_not_tell_the_right_application() -> None:
    for query in PERSONA.queries:
        for cot in ("Who knows.", "One. Two. Three.", "In Music, perhaps."):
            gold, none = (
                replace(query, gold=replace(labels, cot=cot)) for labels in (query.gold, UNLABELLED)
            )
            assert list(thought_faults(PERSONA, gold)) == list(thought_faults(PERSONA, none))
