"""A search of threads: the excerpt and the message of each hit."""

from typing import Any

import pytest
from django.db import connection
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from agui.blocking.executor import in_database
from agui.http.excerpts import EXCERPT_CHARS, excerpt_of
from agui.models import Message
from agui.stores import search
from agui.stores.base import search_words
from agui.stores.model import ModelConversationStore
from agui.testing import say
from tests.conftest import Client, script

pytestmark = pytest.mark.database

FILLER = "Nothing of interest stands here. " * 20


async def test_a_very_long_message_is_not_read(client: Client, monkeypatch):
    monkeypatch.setattr(search, "MAX_DATA_CHARS", 1000)
    with script(say("Fine.")):
        await client.run(f"{FILLER}Cherries. {FILLER}{FILLER}", thread="a")
    [hit] = (await client.get("threads/?q=Cherries")).json()["threads"]
    assert "cherries." in hit["excerpt"]  # as a search reads it
    assert hit["excerpt"][0] == hit["excerpt"][-1] == "…"
    assert len(hit["excerpt"]) <= EXCERPT_CHARS + 2
    assert hit["message_id"] == (await client.thread("a"))["messages"][0]["id"]
    ids = [message.pk async for message in Message.objects.all()]
    rows = await in_database(lambda: list(search._read(ids, ["cherries"])))
    assert all(len(row["text"]) <= 1000 and len(row["piece"]) <= search.PIECE_CHARS for row in rows)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("threads", [1, 20])
async def test_the_hits_of_a_page_cost_two_queries(threads):
    for number in range(threads):
        turn = [ModelRequest([UserPromptPart("A question")]), ModelResponse([TextPart("Yes")])]
        thread = Conversation(conversation_id=str(number), messages=turn)
        await ModelConversationStore().save(thread, scope="alice")
    statements: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return execute(sql, *rest)

    def find() -> Any:
        with connection.execute_wrapper(note):
            return search.find_matches([str(number) for number in range(threads)], ["question"], "alice")

    assert len(await in_database(find)) == threads
    assert len(statements) == 2
    assert await ModelConversationStore().matches(["0"], "question", scope="bob") == {}


GREEK = "alpha beta gamma delta "


@pytest.mark.parametrize(
    ("text", "q", "excerpt"),
    [
        ("Die Straße ist lang", "STRASSE", "Die Straße ist lang"),
        ("ﬁnal words", "final", "ﬁnal words"),
        ("one", "two", ""),
        ("x" * 500 + "needle" + "y" * 500, "needle", "…" + "x" * 40 + "needle" + "y" * 74 + "…"),
        ("ﬃ" * 500 + "NEEDLE" + "ﬃ" * 500, "needle", "…" + "ﬃ" * 40 + "NEEDLE" + "ﬃ" * 74 + "…"),
        ("a\n\n  b\x00", "b", "a b\ufffd"),
    ],
)
def test_excerpts(text: str, q: str, excerpt: str):
    assert excerpt_of(text, search_words(q)) == excerpt
    between_words = excerpt_of(GREEK * 10 + "needle " + GREEK * 10, ["needle"])
    assert set(between_words.strip("…").split()) == {"needle", *GREEK.split()}
