"""What a pointer of a later step leads to in what an earlier one gave."""

from typing import Any

import pytest

from contextune.errors import PlanError
from contextune.plan import Pointer
from contextune.plan.multi_step.resolve import resolve
from contextune.plan.schema import parameters
from contextune.types import Tool

TEXT = {"type": "string"}
TAKES: dict[str, Any] = {
    "email_subject": TEXT,
    "issue_id": TEXT,
    "destination": TEXT,
    "start_time": {"type": "string", "format": "date-time"},
    "recipients": {"type": "array", "items": TEXT},
    "body": {**TEXT, "x-free-text": True},
    "count": {"type": "integer"},
}
TAKING = Tool("take", "take", parameters={"type": "object", "properties": TAKES})
PARAMETERS = {one.name: one for one in parameters(TAKING)}


@pytest.mark.parametrize(
    ("value", "path", "name", "wanted"),
    [
        ({"email_subject": "A", "subject": "B"}, ("email_subject",), "email_subject", "A"),
        ({"emailSubject": "A", "subject": "B"}, ("email_subject",), "email_subject", "A"),
        ([{"subject": "A"}, {"subject": "B"}], (0, "email_subject"), "email_subject", "A"),
        ([{"subject": "A"}, {"subject": "B"}], (1, "email_subject"), "email_subject", "B"),
        ({"result": [{"title": "A"}]}, (0, "email_subject"), "email_subject", "A"),
        ({"total": 1, "mails": [{"subject": "A"}]}, (0, "email_subject"), "email_subject", "A"),
        ('[{"subject": "A"}]', (0, "email_subject"), "email_subject", "A"),
        ({"id": 12, "title": "x"}, ("issue_id",), "issue_id", "12"),
        ("ABC-1", ("issue_id",), "issue_id", "ABC-1"),
        ([{"name": "Pronto", "address": "Rua 1"}], (0, "destination"), "destination", "Rua 1"),
        ([{"start": "2024-05-17T10:00"}], (0, "start_time"), "start_time", "2024-05-17T10:00"),
        ({"recipients": ["a", "b"]}, ("recipients",), "recipients", ["a", "b"]),
        ({"recipient": "a"}, ("recipient",), "recipients", ["a"]),
        ("rain", (), "body", "rain"),
        ({"high": 21, "sky": "rain", "wind": None}, (), "body", "high: 21, sky: rain"),
        ([{"a": 1}, "b"], (), "body", "a: 1\nb"),
        ("{not json", (), "body", "{not json"),
        ({"count": "3"}, ("count",), "count", 3),
        ({"count": "nan"}, ("count",), "count", "nan"),
    ],
)
def test_what_a_pointer_leads_to(value: Any, path: tuple[str | int, ...], name: str, wanted: Any) -> None:
    assert resolve(value, Pointer(0, path), PARAMETERS[name]) == wanted


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ([{"subject": "A"}, {"subject": "B"}], ("email_subject",), "not clear: step 1 found 2"),
        ([{"subject": "A"}], (3, "email_subject"), "not there: step 1 found 1"),
        ({"subject": "A"}, (2, "email_subject"), "wants a list, and step 1 gave none"),
        ({"secret": "hunter2"}, ("email_subject",), "step 1 gave 'secret'"),
        (None, ("email_subject",), "is empty"),
    ],
)
def test_what_a_pointer_does_not_find(value: Any, path: tuple[str | int, ...], reason: str) -> None:
    with pytest.raises(PlanError, match=reason) as raised:
        resolve(value, Pointer(0, path), PARAMETERS["email_subject"])
    assert "hunter2" not in str(raised.value)
