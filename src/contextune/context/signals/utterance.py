"""Utterance: what kind of thing the request says, the same for all items; trees read the others by it."""

import re

from contextune.context.signals.scene import Columns, Scene, flat

_PATTERNS = {
    "past": (
        r"did|was|were|had|said|sent|wrote|called|rang|last|earlier|ago|before|just|missed|again",
        "the past",
    ),
    "future": (
        r"will|going to|next|tomorrow|tonight|later|coming|upcoming|until|till|soon|due",
        "the future",
    ),
    "usual": (r"usual|always|every|again|same|regular|as ever|the one i|what i|when i", "habit"),
    "now": (r"now|just|this|that one|these|current|right now|at the moment", "now"),
    "here": (r"here|this place|around|in here|there|where i am", "the place"),
    "play": (r"play|put on|song|music|album|tune|sing|listen|playlist|record|band", "music"),
    "call": (r"call|ring|phone|dial|voicemail|talk|through to|hold of|back", "calling"),
    "mail": (r"mail|email|reply|answer|send|sent|forward|message|inbox|tell|let \w+ know", "mail"),
    "remind": (r"remind|nag|poke|nudge|forget|due|tick|done|buy|pick up", "reminders"),
    "note": (r"note|notes|write down|jot|scribble|page|list|wrote|put down", "notes"),
    "search": (r"look up|search|google|find|looked|weather|open|directions|route|how", "searching"),
    "event": (r"meeting|when|start|late|cancel|move|reschedule|appointment|free|book|invite", "events"),
    "person": (r"my \w+|she|he|her|him|they|them|who|whoever", "people"),
    "not": (r"not|don't|no|never|trash|delete|cancel|skip", "undoing"),
    "pointing": (r"it|that|those|this|these|one|ones|thing|thingy|stuff", "something unnamed"),
    "numbers": (r"\d+|one|two|three|four|five|six|seven|eight|nine|ten|half|quarter", "numbers"),
}
_COMPILED = {name: re.compile(rf"\b(?:{pattern})\b") for name, (pattern, _) in _PATTERNS.items()}
KINDS = ("semantic", "temporal", "place", "habit", "recency", "person", "cross")

FEATURES = {
    **{
        f"utterance.{name}": f"1 if the request has words for {about}"
        for name, (_, about) in _PATTERNS.items()
    },
    "utterance.question": "1 if the request asks",
    "utterance.length": "number of words in the request",
    **{f"utterance.kind {kind}": f"probability that the request is of the kind “{kind}”" for kind in KINDS},
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    low = scene.text.casefold()
    return {
        **{
            f"utterance.{name}": flat(scene, bool(pattern.search(low))) for name, pattern in _COMPILED.items()
        },
        "utterance.question": flat(scene, "?" in low),
        "utterance.length": flat(scene, len(scene.words)),
        **{
            f"utterance.kind {kind}": flat(scene, scene.reading.kinds.get(kind, float("nan")))
            for kind in KINDS
        },
    }


def why(scene: Scene, number: int) -> str | None:
    """Says nothing of its own: it tells how to read the other families."""
    del scene, number
