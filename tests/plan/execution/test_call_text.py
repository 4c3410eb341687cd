"""A confirmation shows every argument; only values are cut."""

from contextune.plan.execution.call_text import call_text


def test_short_values_come_first() -> None:
    shown = call_text("mail/send", {"text": "x" * 5000, "to": "a@b.example"})
    assert shown.startswith("mail/send(to='a@b.example', text='xxx")
    assert "(5,000 characters)" in shown
    assert len(shown) < 400


def test_fifty_arguments_are_shown() -> None:
    arguments = {f"argument{number}": "y" * 3000 for number in range(50)}
    shown = call_text("t", arguments)
    assert all(f"{name}=" in shown for name in arguments)
    assert len(shown) < 50 * 400


def test_nested_values_are_cut_inside() -> None:
    shown = call_text("t", {"message": {"text": "z" * 5000, "to": {"address": "a@b.example"}}})
    assert shown.index("a@b.example") < shown.index("zzz")
    assert len(shown) < 500


def test_end_of_a_long_text_is_shown() -> None:
    assert "rm -rf /" in call_text("t", {"command": f"{'echo ok; ' * 500}rm -rf /"})


def test_long_lists_say_how_long_they_are() -> None:
    shown = call_text("t", {"to": [f"a{number}@b.example" for number in range(1000)]})
    assert "a99@b.example" in shown
    assert "1,000 entries" in shown


def test_values_cannot_fake_other_text() -> None:
    shown = call_text("t", {"a\u202eb": "x', to='me", "note": "line\nbreak\u200b"})
    assert "\u202e" not in shown
    assert "\n" not in shown
    assert "\u200b" not in shown
    assert r"\u202e" in shown


def test_deep_values_end() -> None:
    value: object = "x"
    for _ in range(100):
        value = [value]
    assert len(call_text("t", {"v": value})) < 200
