"""fastmcp's client signs in by itself: python sign_in_fastmcp.py ADDRESS, with BROWSER="echo open %s".

It prints a line for each thing that it does, and waits for a line of its input where a person has to decide.
"""

import asyncio
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.auth import OAuth


def say(*words: Any) -> None:
    print(*words, flush=True)


async def call(client: Client[Any], name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments, raise_on_error=False)
    return result.structured_content or result.content[0].text


async def decided(client: Client[Any], name: str) -> str:
    """Call a tool that waits for the person, and again when they have decided."""
    waits = await call(client, name)
    say("decide", waits["approval"]["link"])
    await asyncio.to_thread(sys.stdin.readline)
    return str(await call(client, name))


async def main(address: str) -> None:
    auth = OAuth(client_name="fastmcp")
    async with Client(address, auth=auth) as client:
        tools = await client.list_tools()
        say("called", await call(client, "add_task", title="Call the landlord"))
        say("approved", await decided(client, "delete_finished_tasks"))
        say("denied", await decided(client, "delete_finished_tasks"))
        [prompt, *_] = await client.list_prompts()
        say("prompt", (await client.get_prompt(prompt.name)).messages[0].role)
        [*_, task] = (await client.read_resource("tasks://open"))[0].text.splitlines()
        say("resource", task)
        tokens = auth.context.current_tokens
        auth.context.token_expiry_time = 1.0  # As hours later
        say("again", "as many tools" if await client.list_tools() == tools else "other tools")
        say("refreshed" if auth.context.current_tokens.refresh_token != tokens.refresh_token else "the same token")


asyncio.run(main(sys.argv[1]))
