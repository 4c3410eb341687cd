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


def test_last_entries_of_a_long_list_are_shown() -> None:
    shown = call_text("mail/send", {"to": [*(f"a{number}@b.example" for number in range(150)), "evil@x"]})
    assert shown.endswith("'evil@x'])")
    assert "… 41 of 151 entries with 'a100@b.example', " in shown
    whole = call_text("mail/send", {"to": [f"a{number}@b.example" for number in range(110)]})
    assert all(f"a{number}@b.example" in whole for number in range(110))
    assert "entries" not in whole


def test_address_in_the_middle_of_a_long_list_is_named() -> None:
    entries: list[object] = [f"guest {number}" for number in range(500)]
    entries[200] = {"name": "guest 200", "ways": ["evil@x"]}
    shown = call_text("calendar/invite", {"guests": entries})
    assert "… 390 of 500 entries with 'evil@x' …" in shown


def test_addresses_and_links_in_the_middle_of_a_long_text_are_named() -> None:
    for way in ("evil@x", "https://evil.example/x?a=1", "www.evil.example"):
        shown = call_text("mail/send", {"text": f"{'a word ' * 40}BCC <{way}>{' a word' * 40}"})
        assert f"characters with '{way}')" in shown, shown
    cut = call_text("mail/send", {"text": f"{'x' * 155} evil@x.example{' a word' * 40}"})
    assert "with 'evil@x.example'" in cut
    plain = call_text("mail/send", {"text": f"a@b.example {'a word ' * 80}"})
    assert "with" not in plain


def test_many_addresses_in_a_long_text_are_counted() -> None:
    shown = call_text("mail/send", {"to": ",".join(f"a{number}@b.example" for number in range(1_000))})
    assert " more addresses or links)" in shown
    assert len(shown) < 1_000


def test_addresses_in_deep_values_are_named() -> None:
    value: object = ["evil@x"]
    for _ in range(2_000):
        value = [value]
    assert "evil@x" in call_text("t", {"v": value})


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
