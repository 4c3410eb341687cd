"""Feature family `utterance`: properties of the request itself, the same for all candidates."""

import re

from contextune.context.signals.scene import FeatureColumns, Scene, constant

_PATTERNS = {
    "past": (
        r"did|was|were|had|said|sent|wrote|called|rang|last|earlier|ago|before|just|missed|again",
        "the past",
    ),
    "future": (
        r"will|going to|next|tomorrow|tonight|later|coming|upcoming|until|till|soon|due",
        "the future",
    ),
    "usual": (r"usual|always|every|again|same|regular|as ever|the one i|what i|when i", "habits"),
    "now": (r"now|just|this|that one|these|current|right now|at the moment", "the present"),
    "here": (r"here|this place|around|in here|there|where i am", "the current place"),
    "play": (r"play|put on|song|music|album|tune|sing|listen|playlist|record|band", "music"),
    "call": (r"call|ring|phone|dial|voicemail|talk|through to|hold of|back", "calling"),
    "mail": (r"mail|email|reply|answer|send|sent|forward|message|inbox|tell|let \w+ know", "mail"),
    "remind": (r"remind|nag|poke|nudge|forget|due|tick|done|buy|pick up", "reminders"),
    "note": (r"note|notes|write down|jot|scribble|page|list|wrote|put down", "notes"),
    "search": (r"look up|search|google|find|looked|weather|open|directions|route|how", "searching"),
    "event": (r"meeting|when|start|late|cancel|move|reschedule|appointment|free|book|invite", "events"),
    "person": (r"my \w+|she|he|her|him|they|them|who|whoever", "people"),
    "not": (r"not|don't|no|never|trash|delete|cancel|skip", "negation or removal"),
    "pointing": (r"it|that|those|this|these|one|ones|thing|thingy|stuff", "something it does not name"),
    "numbers": (r"\d+|one|two|three|four|five|six|seven|eight|nine|ten|half|quarter", "numbers"),
}
_COMPILED = {name: re.compile(rf"\b(?:{pattern})\b") for name, (pattern, _) in _PATTERNS.items()}
REQUEST_KINDS = ("semantic", "temporal", "place", "habit", "recency", "person", "cross", "explicit")
"""What a request leaves out; an explicit one says all that is needed."""

FEATURES = {
    **{
        f"utterance.{name}": f"1 if the request contains words about {topic}"
        for name, (_, topic) in _PATTERNS.items()
    },
    "utterance.question": "1 if the request contains a question mark",
    "utterance.length": "number of words in the request",
    **{
        f"utterance.kind {kind}": f"probability that the request is of the kind “{kind}” (request classifier)"
        for kind in REQUEST_KINDS
    },
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    text = scene.text.casefold()
    return {
        **{
            f"utterance.{name}": constant(scene, bool(pattern.search(text)))
            for name, pattern in _COMPILED.items()
        },
        "utterance.question": constant(scene, "?" in text),
        "utterance.length": constant(scene, len(scene.words)),
        **{
            f"utterance.kind {kind}": constant(scene, scene.request_classes.kinds.get(kind, float("nan")))
            for kind in REQUEST_KINDS
        },
    }


def explain(scene: Scene, number: int) -> str | None:
    """Always None: these features are the same for all candidates."""
    del scene, number
