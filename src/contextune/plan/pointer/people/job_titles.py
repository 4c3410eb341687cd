"""People whom a request names by the job title on their card: "Write to the principal that …"."""

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.named_people import ADDRESSED, addressed_contact, people_of_role


def titled_addressee(inputs: PlanningInput) -> int | None:
    """The only contact with the job title of whom a message is for; they may be somebody else's manager."""
    match = ADDRESSED.match(inputs.request.text)
    if match is None or addressed_contact(inputs) is not None:
        return None
    start, end = match.span("who")
    if inputs.request.text[end : end + 1] in ("'", "’"):  # "Tell the principal's wife"
        return None
    if any(name.words and name.start < end and start < name.end for name in inputs.names):
        return None
    people = people_of_role(match["who"], inputs, by_title=True)
    return people[0] if len(people) == 1 and " " in match["who"] else None


def is_job_title(words: str, inputs: PlanningInput) -> bool:
    """Whether a contact has these words as a job title."""
    return bool(people_of_role(words, inputs, by_title=True))
