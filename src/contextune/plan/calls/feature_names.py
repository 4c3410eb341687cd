"""The features of the call ranker, with descriptions."""

from collections.abc import Mapping

COMPARED = ("sure", "sure required", "covered", "covered said", "pattern")
"""Features that are also given relative to the best call of the request."""

FEATURES: Mapping[str, str] = {
    # the tool
    "tool rank": "rank of the tool, from 0",
    "tool behind": "score of the tool, minus that of the first tool",
    "tool lead": "score of the tool, minus the highest of another tool",
    "tool share": "softmax share of the tool's score among those filled",
    "tool said": "share of the words of the tool's name that are in the request",
    "app likely": "probability, from the text alone, that the request concerns the tool's application",
    "app behind": "the same, minus the highest of any application",
    "tool known": "log probability of the tool by the tool classifier, NaN if it does not know the tool",
    "tool known behind": "the same, minus the highest of all tools it knows, in this catalogue or not",
    "action known": "log probability of the first word of the tool's name by the tool classifier",
    "tool prior": "share of the training calls that are of this tool",
    "pattern": "share of the tool's training calls that have exactly these arguments",
    # the arguments
    "required": "number of required arguments",
    "optional": "number of optional arguments given",
    "missing": "number of required arguments without a value",
    "free": "number of free texts",
    "sure": "product of the probabilities of all given arguments",
    "sure required": "product of the probabilities of the required arguments",
    "sure least": "lowest probability of a given argument",
    "sure mean": "mean probability of the given arguments",
    "lead least": "smallest lead of a chosen value over the next candidate's score",
    "varied": "1 if an argument has its second-best value",
    "behind": "how much lower that value scores than the best",
    **{
        f"from {kind}": f"share of the arguments whose value comes from {source}"
        for kind, source in {
            "item": "an item",
            "contact": "a contact",
            "said": "words of the request",
            "time": "a time",
        }.items()
    },
    # the items
    "items": "number of items that values come from",
    "item rank": "rank of the best of them, NaN without",
    "item share": "relative retrieval score of the best of them",
    "item own": "share of them that belong to the tool's application",
    "first own": "1 if the first item belongs to the tool's application",
    "own rank": "rank of the first item of the tool's application",
    # the words of the request
    "covered": "share of the request's words (by weight) that the call accounts for",
    "covered said": "the same, without free texts",
    "covered values": "the same, by chosen values alone",
    "covered tool": "the same, by the tool's name, description and parameters alone",
    "covered free": "the same, by free texts alone",
    "left names": "names in the request that the call does not use",
    "left said names": "the same, not counting free texts as use",
    "left quotes": "quoted texts that the call does not use, not counting free texts as use",
    "left numbers": "numbers that the call does not use, not counting free texts as use",
    "left contacts": "contacts named in the request that the call does not use",
    "contacts used": "contacts named in the request that the call uses",
    "left times": "1 if the request says a day or an hour and the call has no time from it",
    # the request
    "fits": "probability that any tool of the catalogue can serve the request",
    "needs context": "probability that the request is implicit",
    "length": "number of words of the request",
    "asks": "1 if the request has a question mark",
    **{f"{name} behind": f"{name}, minus the highest of any call of the request" for name in COMPARED},
}
NAMES: tuple[str, ...] = tuple(FEATURES)

READ_FEATURES: Mapping[str, str] = {
    "read": "log probability of the tool by the reader, NaN if it does not know the tool",
    "read behind": "the same, minus the highest of all tools it knows",
    "read share": "probability of the tool by the reader",
}
"""What a ranker of calls knows besides if the reader has read the request."""
READ_NAMES: tuple[str, ...] = (*NAMES, *READ_FEATURES)
