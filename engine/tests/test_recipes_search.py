"""agui/manual/recipes/, the page about search: what each recipe claims."""

from dataclasses import replace

from pydantic_ai.embeddings import TestEmbeddingModel
from pydantic_ai.native_tools import CodeExecutionTool, ImageGenerationTool, WebFetchTool, WebSearchTool, XSearchTool

from agui.testing import Chat, ScriptedModel, call, say


class Searching(ScriptedModel):
    """A model whose provider has tools, and that keeps which it was given."""

    @classmethod
    def supported_native_tools(cls):
        return frozenset({CodeExecutionTool, ImageGenerationTool, WebFetchTool, WebSearchTool, XSearchTool})

    def prepare_request(self, settings, parameters):
        prepared = super().prepare_request(settings, parameters)
        self.native = [tool.kind for tool in prepared[1].native_tools]
        return prepared


async def test_search_with_the_provider_or_a_function(paste, user):
    paste("search#search-with-the-provider-or-with-a-function-of-yours")
    chat = Chat(user, model=Searching([say("Found.")]))
    await chat.send("Search")
    assert chat.model.native == ["web_search"]
    assert "search_the_manual" not in chat.model.requests[0].tools
    answer = await Chat(user, call("search_the_manual", query="lamps"), say("Found.")).send("Search")
    assert answer.results == [["Page 3 is about lamps."]]


async def test_let_the_provider_run_its_tools(paste, user):
    paste("search#let-the-provider-run-its-tools")
    chat = Chat(user, model=Searching([say("Found.")]))
    assert (await chat.send("Search")).text == "Found."
    assert sorted(chat.model.native) == ["code_execution", "web_search"]
    assert (await Chat(user, say("Never asked.")).send("Search")).error == "internal_error"


async def test_find_texts_by_their_meaning(paste, user):
    recipe = paste("search#find-texts-by-their-meaning")

    class ByLetters(TestEmbeddingModel):
        async def embed(self, inputs, *, input_type, settings=None):
            result = await super().embed(inputs, input_type=input_type, settings=settings)
            vectors = [[text.count("money") + 0.1, text.count("parcel") + 0.1] for text in result.inputs]
            return replace(result, embeddings=vectors)

    with recipe.embedder.override(model=ByLetters()):
        calls = [call("find_article", question="I want my money back"), call("find_article", question="My parcel?")]
        answer = await Chat(user, calls, say("See there.")).send("Help")
    assert answer.results == ["Refunds", "Delivery"]


async def test_use_more_tools_that_some_providers_have(paste, user):
    paste("search#use-more-tools-that-some-providers-have")
    chat = Chat(user, model=Searching([say("Found.")]))
    await chat.send("Look")
    assert sorted(chat.model.native) == ["code_execution", "image_generation", "web_fetch", "x_search"]
    assert not chat.model.requests[0].tools

    calls = [
        call("fetch", url="https://example.com"),
        call("search_posts", query="lamps"),
        call("add_up", numbers=[1, 2.5]),
        call("draw", prompt="a lamp"),
    ]
    answer = await Chat(user, calls, say("Found.")).send("Look")
    assert answer.results[:3] == ["The text of https://example.com", ["A post about lamps"], "3.5"]
    assert len(answer.results) == 4
