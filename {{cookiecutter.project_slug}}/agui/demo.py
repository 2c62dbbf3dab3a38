"""A model that needs no key: it answers offline."""

from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel


def build_demo_model(notice: str = "", pace_seconds: float = 0.025) -> Model:
    """Build the offline demo model."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("I am the offline demo model.")])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "I am the offline demo model."

    return FunctionModel(respond, stream_function=stream, model_name="demo")
