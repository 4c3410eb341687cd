"""Resolving pointers in the results of earlier steps."""

from typing import Any

import pytest

from contextune.errors import PlanError
from contextune.plan import Pointer
from contextune.plan.multi_step.resolve import resolve_pointer
from contextune.plan.schema import tool_parameters
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
PARAMETERS = {one.name: one for one in tool_parameters(TAKING)}


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
def test_pointer_resolves(value: Any, path: tuple[str | int, ...], name: str, wanted: Any) -> None:
    assert resolve_pointer(value, Pointer(0, path), PARAMETERS[name]) == wanted


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ([{"subject": "A"}, {"subject": "B"}], ("email_subject",), "ambiguous: step 1 returned 2"),
        ([{"subject": "A"}], (3, "email_subject"), "does not exist: step 1 returned 1"),
        ({"subject": "A"}, (2, "email_subject"), "needs a list, but step 1 did not return one"),
        ({"secret": "hunter2"}, ("email_subject",), "step 1 returned 'secret'"),
        (None, ("email_subject",), "is empty"),
    ],
)
def test_unresolvable_pointer_is_an_error(value: Any, path: tuple[str | int, ...], reason: str) -> None:
    with pytest.raises(PlanError, match=reason) as raised:
        resolve_pointer(value, Pointer(0, path), PARAMETERS["email_subject"])
    assert "hunter2" not in str(raised.value)
