"""Thoughts between tags are found wherever a text is cut, and tags that a text is about stay in it."""

from itertools import combinations

import pytest

from agui.agents.thinking_tags import TaggedText

TAGS = ("<think>", "</think>")


def read(pieces: list[str], *, may_be_plain: bool = False) -> tuple[str, str]:
    """The thought and the text of an answer that comes in these pieces, those of plain text unread if they may be."""
    tagged = TaggedText(TAGS)
    thought, text = "", ""
    for piece, is_last in [*((piece, False) for piece in pieces), ("", True)]:
        if may_be_plain and not is_last and tagged.add_plain(piece):
            text += piece
            continue
        for new in tagged.read(piece, is_last=is_last):
            if new is None:
                thought, text = text, ""
            elif new[0]:
                thought += new[1]
            else:
                text += new[1]
    return thought, text


TEXTS = {
    "<think>Hm</think>Hello": ("Hm", "Hello"),
    "<think>\nHm\n</think>\n\nHello": ("Hm\n", "Hello"),
    "\n<think>Hm</think>Hello": ("Hm", "\nHello"),
    "<think></think>\n\nHello": ("", "Hello"),
    "<think>a < b</think>c > d": ("a < b", "c > d"),
    "Hm</think>\n\nHello": ("Hm", "Hello"),
    "<think>Hm": ("Hm", ""),
    "Hello <": ("", "Hello <"),
    "Hello <think": ("", "Hello <think"),
    "In a line <think> is text": ("", "In a line <think> is text"),
    "Say `<think>` and `</think>`": ("", "Say `<think>` and `</think>`"),
    'It ends with "</think>".': ("", 'It ends with "</think>".'),
    "```\n<think>\n```\n": ("", "```\n<think>\n```\n"),
    "<think>One</think>Two\n<think>three</think>four": ("Onethree", "Two\nfour"),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("may_be_plain", [False, True])
def test_a_thought_is_found_wherever_the_text_is_cut(text: str, may_be_plain: bool):
    assert read([text], may_be_plain=may_be_plain) == TEXTS[text]
    assert read(list(text), may_be_plain=may_be_plain) == TEXTS[text]
    for first, second in combinations(range(len(text) + 1), 2):
        pieces = [text[:first], text[first:second], text[second:]]
        assert read(pieces, may_be_plain=may_be_plain) == TEXTS[text]
