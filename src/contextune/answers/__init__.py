"""Answers to questions: sentences of stored items, shown for calls that only read what the store holds."""

from contextune.answers.extract import extract_answer
from contextune.answers.extracted import AnswerSource, Correction, ExtractedAnswer, answer_json, state_shown
from contextune.answers.scorer import SentenceScorer, default_scorer, shared_words

__all__ = [
    "AnswerSource",
    "Correction",
    "ExtractedAnswer",
    "SentenceScorer",
    "answer_json",
    "default_scorer",
    "extract_answer",
    "shared_words",
    "state_shown",
]
