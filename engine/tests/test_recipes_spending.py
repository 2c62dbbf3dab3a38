"""agui/manual/recipes/, the recipe about what users have used: what it claims."""

from pydantic_ai.usage import RequestUsage

from agui.testing import Chat, Response, call, say


async def test_tell_users_what_they_have_used(paste, user):
    paste("limit-cost#tell-users-what-they-have-used")
    used = Response([say("Hello.")], usage=RequestUsage(input_tokens=40_000, output_tokens=2_000))
    chat = Chat(user, used, call("my_spending"), say("There."))
    await chat.send("Hi")
    answer = await chat.send("What have I used?")
    assert answer.results == ["Today 42000 tokens, -; conversation 42015 tokens; this turn 15 tokens"]
