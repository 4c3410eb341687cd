"""The times that an argument may have: said, derived from items by what is said, or of the items."""

from datetime import date, datetime, time, timedelta

from contextune.plan.arguments.candidate import ValueCandidate, origin_of
from contextune.plan.planning_input import PlanningInput
from contextune.plan.times.resolve import CandidateTime, candidate_times
from contextune.reading.texts import time_value_text
from contextune.types import Source

_TIMES, _TIMED_ITEMS, _WRITTEN = 24, 3, 8
"""Most times, items whose times are read, and times that the texts of items mention."""
_DAY = timedelta(days=1)
_LAST_MINUTE = 24 * 60 - 1


def time_candidates(inputs: PlanningInput) -> list[ValueCandidate]:
    """Times of the request, alone and together with the times of the best items, and the times of items."""
    now, found = inputs.now, dict[tuple[date, int | None], ValueCandidate]()

    def add(
        day: date,
        clock: int | None,
        origin: str,
        source: Source,
        role: str,
        rank: int = -1,
        weight: float = 0,
    ) -> None:
        if (day, clock) not in found and len(found) < _TIMES:
            moment = datetime.combine(day, time()) + timedelta(minutes=clock or 0)
            shown = time_value_text(moment, now, origin, day=clock is None)
            found[day, clock] = ValueCandidate(
                moment, "time", shown, source, is_day=clock is None, item=rank, role=role, weight=weight
            )

    for phrase in inputs.time_phrases[:4]:
        if phrase.kind == "duration":
            continue
        source = Source("time", words=phrase.text)
        for number, (start, end) in enumerate(phrase.readings[:3]):
            label = phrase.text if not number else f"{phrase.text}, or"
            if phrase.granularity in ("minute", "hour"):
                add(start.date(), _minutes(start), label, source, "said", weight=3 - number)
                continue
            if start != datetime.min:
                add(start.date(), None, label, source, "said", weight=3 - number)
                add(start.date(), _minutes(start), f"start of {label}", source, "start", weight=2 - number)
            if end != datetime.max:
                last = end - timedelta(minutes=1)
                if last.date() != start.date():
                    add(last.date(), None, f"end of {label}", source, "end", weight=2 - number)
                add(last.date(), _minutes(last), f"end of {label}", source, "end", weight=2 - number)
    said, moved, kept, written = (list[CandidateTime]() for _ in range(4))
    for candidate in candidate_times(inputs.times, now, inputs.items[:_TIMED_ITEMS], inputs.user.zone):
        is_said = (
            candidate.day_from_request
            or candidate.clock_from_request
            or candidate.shift
            or candidate.day_offset
        )
        if candidate.item is None:
            said.append(candidate)
        elif is_said and not candidate.in_text:
            moved.append(candidate)
        elif candidate.in_text:
            written.append(candidate)
        else:
            kept.append(candidate)
    kept.sort(key=lambda each: (each.item or 0, each.clock is None))
    said.sort(
        key=lambda each: (
            -each.day_from_request - each.clock_from_request,
            not each.certain,
            each.day < now.date(),
        )
    )
    written.sort(key=lambda each: (each.item or 0, each.clock is None, not each.certain))
    for candidate in (*said[:8], *moved[:6], *kept, *written[:_WRITTEN], *said[8:], *moved[6:]):
        item = inputs.items[candidate.item] if candidate.item is not None else None
        if item is not None:
            origin = f"{candidate.field or 'time'} of {origin_of(item, candidate.item or 0)}".replace(
                "_", " "
            )
            origin = f"{candidate.words} {origin}" if candidate.words else origin
            source = Source("item", item.id, candidate.field, candidate.words)
            label = "time written in" if candidate.in_text else f"{candidate.field or 'time'} of"
            role = f"{label} {item.schema.noun}".replace("_", " ")
        else:
            origin, source, role = candidate.words or "today", Source("time", words=candidate.words), "joined"
        parts = candidate.day_from_request + candidate.clock_from_request + (candidate.shift in (1, -1))
        rank = -1 if candidate.item is None else candidate.item
        add(candidate.day, candidate.clock, origin, source, role, rank, parts + 0.5 * candidate.certain)
    add(now.date(), None, "today", Source("time", words="today"), "today")
    add(now.date(), _minutes(now), "now", Source("time", words="now"), "now")
    add(now.date(), _LAST_MINUTE, "end of today", Source("time", words="today"), "end of today")
    add(now.date() + _DAY, None, "tomorrow", Source("time", words="tomorrow"), "tomorrow")
    return list(found.values())


def _minutes(moment: datetime) -> int:
    return moment.hour * 60 + moment.minute
