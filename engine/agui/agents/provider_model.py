"""A run's model: its provider gets a history that it accepts, and what it sends can be read."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agui.agents.answer_pieces import Keeps
from agui.agents.model_failures import failures_of, watch_responses
from agui.agents.model_history import fitting
from agui.agents.model_streams import mended


def wrap_members(model: Model, wrap: Callable[[Model], Model]) -> Model:
    """Wrap a model, or each model of a chain: what one can't do, the next one may."""
    if isinstance(model, FallbackModel):
        fallback = copy(model)
        fallback.models = [wrap(member) for member in model.models]
        return fallback
    return wrap(model)


class ProviderModel(WrapperModel):
    """A model whose provider may be changed between two turns, and may answer oddly."""

    def __init__(self, wrapped: Model, keeps: Keeps) -> None:
        """`keeps` says whether a part of the engine keeps a file that the model has made."""
        super().__init__(wrapped)
        self._keeps = keeps
        watch_responses(self.wrapped)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        with failures_of(self.wrapped):
            messages = fitting(messages, self.wrapped)
            return await self.wrapped.request(messages, model_settings, model_request_parameters)

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        request = model_settings, model_request_parameters
        with failures_of(self.wrapped):
            return await self.wrapped.count_tokens(fitting(messages, self.wrapped), *request)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = model_settings, model_request_parameters, run_context
        async with AsyncExitStack() as stack:
            with failures_of(self.wrapped):
                sent = fitting(messages, self.wrapped)
                response = await stack.enter_async_context(
                    self.wrapped.request_stream(sent, *request)
                )
            yield mended(response, self.wrapped, messages, self._keeps)
