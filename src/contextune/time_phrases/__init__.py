"""Time expressions in requests: one parser for context ranking and planning.

Hand-written, since the libraries for this (dateparser, parsedatetime, recurrent) return a single time,
without granularity, alternative readings or a confidence, which ranking and planning need. English only.
"""

from contextune.time_phrases.parser import parse_time_phrases
from contextune.time_phrases.phrase import Direction, Granularity, Interval, Kind, TimePhrase

__all__ = ["Direction", "Granularity", "Interval", "Kind", "TimePhrase", "parse_time_phrases"]
