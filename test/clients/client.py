"""Lists, calls, gets and reads with the client of the package mcp, and prints the outcome as JSON.

Arguments: the revision to ask for, or "default"; then a URL and a token, or the command of a server.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def use(target, mode):
    async with Client(target, mode=mode) as client:
        tools = (await client.list_tools()).tools
        called = await client.call_tool("sum", {"a": 1, "b": 2})
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt("greet", {"name": "Ada", "times": "3"})
        resources = (await client.list_resources()).resources
        read = await client.read_resource("text:note")
        return {
            "protocol": str(client.protocol_version),
            "tools": [tool.name for tool in tools],
            "called": called.structured_content,
            "prompts": [each.name for each in prompts],
            "prompt": [message.content.text for message in prompt.messages],
            "resources": [str(each.uri) for each in resources],
            "read": read.contents[0].text,
        }


async def main():
    asked, first, *rest = sys.argv[1:]
    mode = {"default": "auto", "2025-11-25": "legacy"}.get(asked, asked)
    if not first.startswith("http"):
        return await use(StdioServerParameters(command=first, args=rest), mode)
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {rest[0]}"}) as http:
        return await use(streamable_http_client(first, http_client=http), mode)


print(json.dumps(asyncio.run(main())))
