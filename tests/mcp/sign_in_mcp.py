"""The official Python client signs in by itself: python sign_in_mcp.py ADDRESS CALLBACK.

It prints a line for each thing that it does, and waits for a line of its input where a person has to decide, or has
landed at the callback.
"""

import asyncio
import sys
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


def say(*words: Any) -> None:
    print(*words, flush=True)


async def read() -> str:
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


class Memory:
    """What the client keeps."""

    tokens = client = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def show(address: str) -> None:
    say("open", address)


async def come_back() -> AuthorizationCodeResult:
    return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(await read()).query)))


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    return result.structured_content or result.content[0].text


async def decided(client: Client, name: str) -> str:
    """Call a tool that waits for the person, and again when they have decided."""
    waits = await call(client, name)
    say("decide", waits["approval"]["link"])
    await read()
    return str(await call(client, name))


async def main(address: str, callback: str) -> None:
    memory = Memory()
    about = OAuthClientMetadata(client_name="Python", redirect_uris=[callback])
    auth = OAuthClientProvider(address, about, memory, show, come_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        say("called", await call(client, "add_task", title="Call the landlord"))
        say("approved", await decided(client, "delete_finished_tasks"))
        say("denied", await decided(client, "delete_finished_tasks"))
        [prompt, *_] = (await client.list_prompts()).prompts
        say("prompt", (await client.get_prompt(prompt.name)).messages[0].role)
        [*_, task] = (await client.read_resource("tasks://open")).contents[0].text.splitlines()
        say("resource", task)
        first = memory.tokens.refresh_token
        auth.context.token_expiry_time = 1.0  # As hours later
        await call(client, "list_tasks")  # The client keeps lists.
        again = (await client.list_tools()).tools
        say("again", "as many tools" if len(again) == len(tools) else "other tools")
        say("refreshed" if memory.tokens.refresh_token != first else "the same token")


asyncio.run(main(*sys.argv[1:]))
