from contextune._internal.phrases import phrases


def test_phrases_are_separated_by_commas_and_line_ends() -> None:
    assert phrases("""
        Sent from my …, Get Outlook for …
        发自我的…,
    """) == ("Sent from my …", "Get Outlook for …", "发自我的…")


def test_empty_text_has_no_phrases() -> None:
    assert phrases(" \n ") == ()
