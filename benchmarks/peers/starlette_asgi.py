"""pydantic-ai's own adapter on Starlette: the same model and tools; no users, no database, nothing kept."""

from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
from scripted import model
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tools import more_tools

agent = Agent(model, instructions="Be brief.", tools=more_tools)


async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


async def healthz(request: Request) -> Response:
    return PlainTextResponse("ok")


application = Starlette(routes=[Route("/agent/", run, methods=["POST"]), Route("/healthz", healthz)])
