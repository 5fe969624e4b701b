#!/usr/bin/env python3
"""Serves one recorded conversation as an OpenAI-compatible model server, on the loopback only, one turn per request.

It is a judge as much as a server: each turn's `expect` entries are held against the prompt it answers, each prompt must
begin with the whole previous one, and the request must carry the expected key, model, schema and `stream`. A broken
expectation is answered with HTTP 400, so the run cannot go on as if nothing had happened, and is in the report.
It knows no model and no repository, and it does not choose what to answer: the file does.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCHEMA = "openagents.microcoder.script.v1"
WIRES = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
# Small and odd, so that a piece of the stream ends in the middle of a line, of an escape and of a character.
PIECE_BYTES = 61

Json = dict[str, Any]
# The name of an event, where the format has one, and its data.
Events = Iterator[tuple[str | None, Json | str]]


class BrokenError(Exception):
    """What the request or its prompt should have been and was not."""


def text_of(content: str | list[Json]) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content)


def prompt_of(wire: str, body: Json) -> str:
    """The one user message's text: the repository profile sends no conversation."""
    messages = body["messages"] if wire == "chat" else body["input"]
    if isinstance(messages, str):
        return messages
    users = [message for message in messages if message["role"] == "user"]
    if len(users) != 1 or messages[-1] is not users[0]:
        raise BrokenError("the request holds one user message, and it is the last")
    return text_of(users[0]["content"])


def schema_name(wire: str, body: Json) -> object:
    """The name of the JSON schema that the reply is asked to have."""
    if wire == "chat":
        return body.get("response_format", {}).get("json_schema", {}).get("name")
    return body.get("text", {}).get("format", {}).get("name")


def unmet(expectation: Json, step: int, prompt: str, new_text: str) -> str | None:
    """What is wrong with `prompt`, or what is new in it, by one `expect` entry, or None."""
    ((kind, wanted),) = expectation.items()
    if kind == "prompt_contains":
        return None if wanted in prompt else f"the prompt does not contain {wanted!r}"
    if kind == "prompt_not_contains":
        return None if wanted not in prompt else f"the prompt contains {wanted!r}"
    if kind == "new_text_contains":
        return None if wanted in new_text else f"what is new in the prompt does not contain {wanted!r}"
    if kind == "step":
        return None if wanted == step else f"this is step {step} and not {wanted}"
    return f"this server does not know the expectation {kind!r}"


class Conversation:
    """The turns, how far they have come, and what was wrong on the way."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        script = json.loads(Path(options.conversation).read_text(encoding="utf-8"))
        if script["schema"] != SCHEMA:
            raise SystemExit(f"{options.conversation} is not of the schema {SCHEMA}")
        self.turns = script["turns"]
        self.served = 0
        self.previous = ""
        self.failures: list[str] = []
        self.report()

    def report(self) -> None:
        """Replaces the report by one which is true now."""
        path = Path(self.options.report)
        value = {"turns": len(self.turns), "served": self.served, "failures": self.failures}
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(value, file)
        Path(file.name).replace(path)

    def answer(self, path: str, headers: Message, raw: bytes) -> Events:
        """The events of the next turn's reply, or `BrokenError`."""
        wire = self.options.wire
        if path != WIRES[wire]:
            raise BrokenError(f"the request goes to {WIRES[wire]} and not to {path}")
        if headers.get("authorization") != f"Bearer {self.options.key}":
            raise BrokenError("the request carries the key of the named variable as a bearer token")
        body = json.loads(raw)
        for key, wanted in (("stream", True), ("model", self.options.model)):
            if body.get(key) != wanted:
                raise BrokenError(f"{key} is {wanted!r} and not {body.get(key)!r}")
        if schema_name(wire, body) != "next_action":
            raise BrokenError("the reply is asked to have the JSON schema next_action")
        if self.options.key.encode() in raw:
            raise BrokenError("the key is in the header alone")
        if self.served == len(self.turns):
            raise BrokenError(f"the conversation has {len(self.turns)} turns and all are served")
        turn = self.turns[self.served]
        step = self.served + 1
        prompt = prompt_of(wire, body)
        if not prompt.startswith(self.previous):
            raise BrokenError(f"the prompt of step {step} begins with the whole prompt of step {step - 1}")
        for expectation in turn.get("expect", []):
            fault = unmet(expectation, step, prompt, prompt[len(self.previous) :])
            if fault:
                raise BrokenError(f"turn {step}: {fault}")
        usage = (len(prompt) // 4, len(self.previous) // 4)
        self.previous = prompt
        self.served = step
        reply = turn["reply"]
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return EVENTS[wire](self.options.model, step, text, usage)


def pieces(text: str) -> list[str]:
    """The text in pieces, as a model writes it."""
    return [text[start : start + 40] for start in range(0, len(text), 40)]


def chat_events(model: str, step: int, text: str, usage: tuple[int, int]) -> Events:
    """Chat Completions: deltas, a finish reason, the usage, the end mark."""
    base = {"id": f"chatcmpl-{step}", "object": "chat.completion.chunk", "created": 0, "model": model}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield None, chunk({"role": "assistant", "content": ""})
    for piece in pieces(text):
        yield None, chunk({"content": piece})
    yield None, chunk({}, "stop")
    counts = {
        "prompt_tokens": usage[0],
        "prompt_tokens_details": {"cached_tokens": usage[1]},
        "completion_tokens": len(text) // 4,
        "completion_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage[0] + len(text) // 4,
    }
    yield None, base | {"choices": [], "usage": counts}
    yield None, "[DONE]"


def responses_events(model: str, step: int, text: str, usage: tuple[int, int]) -> Events:
    """Responses: the item as it grows, the item whole, the response with its usage."""
    identity = {"id": f"resp_{step}", "object": "response", "created_at": 0, "model": model}
    item = {"id": f"msg_{step}", "type": "message", "role": "assistant"}
    where = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    whole = item | {"status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    counts = {
        "input_tokens": usage[0],
        "input_tokens_details": {"cached_tokens": usage[1]},
        "output_tokens": len(text) // 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage[0] + len(text) // 4,
    }
    yield "response.created", {"response": identity | {"status": "in_progress", "output": []}}
    started = item | {"status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": 0, "item": started}
    for piece in pieces(text):
        yield "response.output_text.delta", where | {"delta": piece}
    yield "response.output_text.done", where | {"text": text}
    yield "response.output_item.done", {"output_index": 0, "item": whole}
    yield "response.completed", {"response": identity | {"status": "completed", "output": [whole], "usage": counts}}


EVENTS = {"chat": chat_events, "responses": responses_events}


def lines(events: Events) -> bytes:
    """The events as the bytes of a server-sent event stream."""
    parts = []
    for name, data in events:
        if name:
            parts.append(f"event: {name}\n")
        if not isinstance(data, str):
            data = json.dumps({"type": name} | data if name else data, ensure_ascii=False)
        parts.append(f"data: {data}\n\n")
    return "".join(parts).encode()


class Handler(BaseHTTPRequestHandler):
    """One request, one turn."""

    protocol_version = "HTTP/1.1"
    conversation: Conversation

    def do_POST(self) -> None:
        """Answers a generation request."""
        raw = self.rfile.read(int(self.headers["content-length"]))
        try:
            stream = lines(self.conversation.answer(self.path, self.headers, raw))
        except (BrokenError, KeyError, TypeError, ValueError) as error:
            self.conversation.failures.append(f"{type(error).__name__}: {error}")
            self.conversation.report()
            self.reject(str(error))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        for start in range(0, len(stream), PIECE_BYTES):
            piece = stream[start : start + PIECE_BYTES]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True
        self.conversation.report()

    def do_GET(self) -> None:
        """The list of models, which some clients ask for."""
        self.send(200, {"object": "list", "data": [{"id": self.conversation.options.model, "object": "model"}]})

    def reject(self, message: str) -> None:
        """An error in the form that OpenAI-compatible servers use."""
        self.send(400, {"error": {"message": message, "type": "invalid_request_error", "code": "expectation"}})

    def send(self, status: int, value: Json) -> None:
        """A JSON answer."""
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Nothing: what matters is in the report."""


def main() -> None:
    """Serves until it is ended; the report says how far it came."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversation", required=True, help="the conversation's JSON file")
    parser.add_argument("--model", required=True, help="the model's name, which requests must ask for")
    parser.add_argument("--key", required=True, help="the bearer token which requests must carry")
    parser.add_argument("--wire", choices=sorted(WIRES), default="chat")
    parser.add_argument("--report", required=True, help="where the JSON report is kept")
    parser.add_argument("--port", required=True, help="the file into which the port is written once it is open")
    options = parser.parse_args()
    Handler.conversation = Conversation(options)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        waiting = Path(options.port + ".new")
        waiting.write_text(str(server.server_address[1]), encoding="utf-8")
        waiting.rename(options.port)
        server.serve_forever()


if __name__ == "__main__":
    main()
