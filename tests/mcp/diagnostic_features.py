"""The diagnostic tools, prompts and resources that the published conformance suite of MCP calls."""

import asyncio
import json

from hosts.mcp.features import Feature, FeatureCall, McpFeatures
from hosts.mcp.jsonrpc import INVALID_PARAMS, JsonRpcError

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
NO_ARGUMENTS = {"type": "object", "properties": {}}
JSON_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

TOOLS, PROMPTS = {}, {}


def text(content):
    return {"type": "text", "text": content}


def tool_result(*content, is_error=False):
    return {"content": list(content), "isError": is_error}


def tool(name, schema=NO_ARGUMENTS):
    """Registers a function as the tool of this name."""

    def register(answer):
        TOOLS[name] = Feature({"name": name, "description": name, "inputSchema": schema}, answer)
        return answer

    return register


def prompt(name, *arguments):
    """Registers a function as the prompt of this name."""

    def register(answer):
        entry = {"name": name, "description": name}
        listed = [{"name": argument, "description": argument, "required": True} for argument in arguments]
        PROMPTS[name] = Feature(entry | ({"arguments": listed} if listed else {}), answer)
        return answer

    return register


def string_arguments(*names, **annotations):
    properties = {name: {"type": "string"} | annotations for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


def register_constant_tool(name, *content, is_error=False):
    @tool(name)
    async def answer(call):
        return tool_result(*content, is_error=is_error)


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
register_constant_tool("test_simple_text", text("This is a simple text response for testing."))
register_constant_tool("test_image_content", IMAGE)
register_constant_tool("test_audio_content", {"type": "audio", "data": WAV, "mimeType": "audio/wav"})
register_constant_tool(
    "test_embedded_resource",
    {
        "type": "resource",
        "resource": {
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        },
    },
)
register_constant_tool(
    "test_multiple_content_types",
    text("Multiple content types test:"),
    IMAGE,
    {
        "type": "resource",
        "resource": {
            "uri": "test://mixed-content-resource",
            "mimeType": "application/json",
            "text": json.dumps({"test": "data", "value": 123}),
        },
    },
)
register_constant_tool(
    "test_error_handling", text("This tool intentionally returns an error for testing"), is_error=True
)


@tool("json_schema_2020_12_tool", JSON_SCHEMA_2020_12)
async def answer_with_json_schema(call):
    return tool_result(text("ok"))


@tool("test_custom_header", string_arguments("region", **{"x-mcp-header": "Region"}))
async def answer_with_custom_header(call):
    return tool_result(text(call.arguments["region"]))


async def log_three_messages(call):
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.log("info", message)
        await asyncio.sleep(0.05)
    return tool_result(text("Tool with logging executed"))


tool("test_tool_with_logging")(log_three_messages)
tool("test_logging_tool")(log_three_messages)


@tool("test_tool_with_progress")
async def report_progress(call):
    for progress in (0, 50, 100):
        call.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return tool_result(text("Tool with progress executed"))


@tool("test_sampling", string_arguments("prompt"))
async def request_sampling(call):
    message = {"role": "user", "content": text(call.arguments["prompt"])}
    sampled = await call.request_client("sampling/createMessage", {"messages": [message], "maxTokens": 100})
    return tool_result(text(f"LLM response: {sampled['content']['text']}"))


def elicitation_schema(**properties):
    return {"type": "object", "properties": properties, "required": []}


async def elicit(call, message, schema):
    elicited = await call.request_client(
        "elicitation/create", {"message": message, "requestedSchema": schema}
    )
    content = json.dumps(elicited.get("content", {}))
    return tool_result(text(f"Elicitation completed: action={elicited['action']}, content={content}"))


@tool("test_elicitation", string_arguments("message"))
async def request_elicitation(call):
    names = {"username": {"type": "string"}, "email": {"type": "string"}}
    schema = elicitation_schema(**names) | {"required": list(names)}
    return await elicit(call, call.arguments["message"], schema)


@tool("test_elicitation_sep1034_defaults")
async def request_elicitation_with_defaults(call):
    statuses = ["active", "inactive", "pending"]
    schema = elicitation_schema(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": statuses, "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await elicit(call, "Please review the defaults", schema)


@tool("test_elicitation_sep1330_enums")
async def request_elicitation_with_enums(call):
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{number}", "title": title}
        for number, title in enumerate(("First Option", "Second Option", "Third Option"), 1)
    ]
    schema = elicitation_schema(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await elicit(call, "Please choose", schema)


def elicitation_request(message, name, kind="string"):
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling_request(question, max_tokens=100):
    message = {"role": "user", "content": text(question)}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": max_tokens}}


ROOTS_REQUEST = {"method": "roots/list", "params": {}}
NAME_REQUEST = elicitation_request("What is your name?", "name")
CONFIRM_REQUEST = elicitation_request("Please confirm", "ok", "boolean")


def require_or_complete(name, requests, complete):
    """Registers a tool that asks for input and completes with the responses."""

    @tool(name)
    async def answer(call):
        responses = call.input_responses(*requests)
        return call.require_input(requests) if responses is None else tool_result(text(complete(responses)))


def accepted_name(responses):
    return f"Hello, {(responses['user_name'].get('content') or {}).get('name')}!"


require_or_complete("test_input_required_result_elicitation", {"user_name": NAME_REQUEST}, accepted_name)
require_or_complete("test_streaming_elicitation", {"user_name": NAME_REQUEST}, accepted_name)
require_or_complete(
    "test_input_required_result_sampling",
    {"capital_question": sampling_request("What is the capital of France?")},
    lambda responses: json.dumps(responses["capital_question"]),
)
require_or_complete(
    "test_input_required_result_list_roots",
    {"client_roots": ROOTS_REQUEST},
    lambda responses: json.dumps(responses["client_roots"]),
)
require_or_complete(
    "test_missing_capability", {"question": sampling_request("What?")}, lambda responses: "answered"
)


def require_with_state(name, requests):
    """Registers a tool that asks for input with a state and checks the state."""

    @tool(name)
    async def answer(call):
        state, responses = call.read_state(), call.input_responses(*requests)
        if state is None or responses is None:
            return call.require_input(requests, {"round": 1})
        return tool_result(text("state-ok"))


require_with_state("test_input_required_result_request_state", {"confirm": CONFIRM_REQUEST})
require_with_state("test_input_required_result_tampered_state", {"confirm": CONFIRM_REQUEST})
require_with_state(
    "test_input_required_result_multiple_inputs",
    {
        "user_name": NAME_REQUEST,
        "greeting": sampling_request("Generate a greeting", 50),
        "client_roots": ROOTS_REQUEST,
    },
)


@tool("test_input_required_result_multi_round")
async def require_in_two_rounds(call):
    state = call.read_state()
    steps = {
        1: {"step1": elicitation_request("Step 1: What is your name?", "name")},
        2: {"step2": elicitation_request("Step 2: What is your favorite color?", "color")},
    }
    done = 0 if state is None else state["round"]
    if done and call.input_responses(*steps[done]) is None:
        return call.require_input(steps[done], {"round": done})
    if done == len(steps):
        return tool_result(text("Both steps are done"))
    return call.require_input(steps[done + 1], {"round": done + 1})


@tool("test_input_required_result_capabilities")
async def require_what_the_client_supports(call):
    requests = {"name": NAME_REQUEST, "question": sampling_request("What?"), "roots": ROOTS_REQUEST}
    supported = {
        name: request for name, request in requests.items() if call.client_supports(request["method"])
    }
    return call.require_input(supported) if call.input_responses(*supported) is None else tool_result()


def messages(*content):
    return {"messages": [{"role": "user", "content": part} for part in content]}


@prompt("test_simple_prompt")
async def answer_simple_prompt(call):
    return messages(text("This is a simple prompt for testing."))


@prompt("test_prompt_with_arguments", "arg1", "arg2")
async def answer_prompt_with_arguments(call):
    one, two = call.arguments["arg1"], call.arguments["arg2"]
    return messages(text(f"Prompt with arguments: arg1='{one}', arg2='{two}'"))


@prompt("test_prompt_with_embedded_resource", "resourceUri")
async def answer_prompt_with_resource(call):
    uri = call.arguments["resourceUri"]
    resource = {"uri": uri, "mimeType": "text/plain", "text": "Embedded resource content for testing."}
    return messages(
        {"type": "resource", "resource": resource}, text("Please process the embedded resource above.")
    )


@prompt("test_prompt_with_image")
async def answer_prompt_with_image(call):
    return messages(IMAGE, text("Please analyze the image above."))


@prompt("test_input_required_result_prompt")
async def answer_prompt_with_input(call):
    requests = {"user_context": elicitation_request("What context should the prompt use?", "context")}
    responses = call.input_responses(*requests)
    return call.require_input(requests) if responses is None else messages(text("Use the context."))


RESOURCES = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "watched"},
}


def read_resource(uri):
    if uri in RESOURCES:
        return [{"uri": uri} | RESOURCES[uri]]
    prefix, suffix = "test://template/", "/data"
    if uri.startswith(prefix) and uri.endswith(suffix):
        id_ = uri.removeprefix(prefix).removesuffix(suffix)
        data = json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"})
        return [{"uri": uri, "mimeType": "application/json", "text": data}]
    return None


async def complete_argument(call: FeatureCall):
    if "argument" not in call.request.params:
        raise JsonRpcError(INVALID_PARAMS, "argument is required", call.request.id)
    return {"completion": {"values": [], "total": 0, "hasMore": False}}


async def accept(call):
    return {}


DIAGNOSTIC_FEATURES = McpFeatures(
    capabilities={"completions": {}},
    handshake_capabilities={"logging": {}, "resources": {"listChanged": False, "subscribe": True}},
    tools=TOOLS,
    prompts=PROMPTS,
    resources=[
        {"uri": uri, "name": uri, "mimeType": content["mimeType"]} for uri, content in RESOURCES.items()
    ],
    resource_templates=[
        {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    ],
    read_resource=read_resource,
    methods={
        "completion/complete": complete_argument,
        "logging/setLevel": accept,
        "resources/subscribe": accept,
        "resources/unsubscribe": accept,
    },
)
