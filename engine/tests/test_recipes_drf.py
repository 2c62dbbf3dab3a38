"""agui/manual/recipes/, the recipe about Django REST framework: what it claims."""

import pytest

pytest.importorskip("rest_framework_mcp")

from agui.testing import Chat, call, say


async def test_offer_services(paste, user):
    paste("use-other-services#offer-services-of-django-rest-framework")
    wrong, right = call("orders_place", product="x" * 41), call("orders_place", product="tea")
    chat = Chat(user, wrong, right, call("orders_cancel", product="tea"), say("Done."))
    answer = await chat.send("Order tea, then cancel it")
    assert answer.results[-1] == {"ordered": "tea", "for": "ada"}
    assert [interrupt["metadata"]["toolName"] for interrupt in answer.interrupts] == ["orders_cancel"]
