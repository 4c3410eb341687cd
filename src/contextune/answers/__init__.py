"""Answers to questions: sentences of stored items, shown for calls that only read what the store holds."""

from contextune.answers.extract import extract_answer
from contextune.answers.extracted import AnswerSource, Correction, ExtractedAnswer, answer_json, state_shown
from contextune.answers.scorer import PassageScorer, default_scorer, score_alike

__all__ = [
    "AnswerSource",
    "Correction",
    "ExtractedAnswer",
    "PassageScorer",
    "answer_json",
    "default_scorer",
    "extract_answer",
    "score_alike",
    "state_shown",
]
