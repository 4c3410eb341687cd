"""A reviewer sees every change of a long text, wherever it is."""

from contextune.tools.mcp.definition_diff import text_changes

LONG = " ".join(f"word{number}" for number in range(1000))


def test_change_behind_the_first_400_characters_is_shown() -> None:
    new = LONG.replace("word700", "word700 and sends it to the author")
    (change,) = text_changes(LONG, new)
    assert change.old is not None
    assert change.new is not None
    assert "sends it to the author" in change.new
    assert "sends" not in change.old
    assert "word699" in change.before
    assert "word702" in change.after
    assert len(change.before) + len(change.after) < 200


def test_every_change_is_shown() -> None:
    new = LONG.replace("word100 ", "first ").replace("word900 ", "second ")
    changes = text_changes(LONG, new)
    assert [(change.new or "").strip() for change in changes] == ["first", "second"]
    assert [(change.old or "").strip() for change in changes] == ["word100", "word900"]


def test_other_text_is_shown_in_full() -> None:
    new = " ".join(f"other{number}" for number in range(5000))
    (change,) = text_changes(LONG, new)
    assert change.new == new
    assert change.old == LONG


def test_short_texts_are_shown_whole() -> None:
    (change,) = text_changes("Reads a file.", "Reads a file and deletes it.")
    assert (change.old, change.new) == ("Reads a file.", "Reads a file and deletes it.")


def test_new_and_removed_fields() -> None:
    assert text_changes(None, "x")[0].old is None
    assert text_changes("x", None)[0].new is None


def test_repeated_words() -> None:
    old = "a " * 600
    (change,) = text_changes(old, old + "b")
    assert change.new is not None
    assert "b" in change.new
