"""A client of the Python SDK: takes the steps of ../steps.md and prints a line for each.

python client.py legacy|auto STEPS.json COMMAND [ARGUMENT...]
python client.py legacy|auto STEPS.json URL
"""

import json
import sys
from collections.abc import Awaitable
from typing import Any

import anyio
import pydantic
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CreateMessageResult, ElicitResult, TextContent

MODE, STEPS, COMMAND, *ARGUMENTS = sys.argv[1:]


def show(line: Any) -> None:
    print(json.dumps(line, default=plain), flush=True)


def plain(value: Any) -> Any:
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    raise TypeError(f"{value!r} is no value of the SDK's")


async def answer(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_context: Any, _params: Any) -> CreateMessageResult:
    text = TextContent(type="text", text="I am the model")
    return CreateMessageResult(role="assistant", content=text, model="test-model")


async def outcome(client: Client, call: dict[str, Any], **options: Any) -> Any:
    return await shown(client.call_tool(call["call"], call["arguments"], **options))


async def shown(answer: Awaitable[Any]) -> Any:
    try:
        return {"result": await answer}
    except MCPError as error:
        return {"error": error.error}


async def take(client: Client, step: dict[str, Any]) -> Any:
    if "list" in step:
        return (await client.list_tools()).tools
    if "resources" in step:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        return {"resources": resources, "templates": templates}
    if "read" in step:
        return await shown(client.read_resource(step["read"]))
    if "prompts" in step:
        return (await client.list_prompts()).prompts
    if "prompt" in step:
        return await shown(client.get_prompt(step["prompt"], step["arguments"]))
    if "together" in step:
        outcomes: list[Any] = [None] * len(step["together"])

        async def one(at: int, call: dict[str, Any]) -> None:
            outcomes[at] = await outcome(client, call)

        async with anyio.create_task_group() as group:
            for at, call in enumerate(step["together"]):
                group.start_soon(one, at, call)
        return outcomes
    if "cancel" in step:
        async with anyio.create_task_group() as group:
            group.start_soon(outcome, client, step["cancel"])
            # The answer to a later call shows that the server has this one.
            await anyio.lowlevel.checkpoint()
            beside = await outcome(client, step["beside"])
            group.cancel_scope.cancel()
        return {"beside": beside}
    if "progress" in step:
        progress: list[Any] = []
        finished: list[Any] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            progress.append([done, total, message])
            if len(progress) == step["progress"]:
                group.start_soon(finish)

        async def finish() -> None:
            finished.append(await outcome(client, step["then"]))

        async with anyio.create_task_group() as group:
            got = await outcome(client, step, progress_callback=note)
        return {"outcome": got, "progress": progress, "then": finished}
    return {"outcome": await outcome(client, step)}


async def main() -> None:
    with open(STEPS, encoding="utf-8") as file:
        steps = json.load(file)
    is_url = COMMAND.startswith("http")
    server = COMMAND if is_url else StdioServerParameters(command=COMMAND, args=ARGUMENTS)
    callbacks = {"elicitation_callback": answer, "sampling_callback": sample}
    async with Client(server, mode=MODE, **callbacks) as client:
        show({"version": client.protocol_version, "server": client.server_info,
              "instructions": client.instructions})
        for step in steps:
            show({"step": step, "got": await take(client, step)})


anyio.run(main)
