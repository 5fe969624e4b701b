"""A headless Chromium, driven over a pipe by its own protocol: no package but the browser's is needed."""

import contextlib
import json
import os
import struct
import subprocess
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Browser:
    """One page of a browser, and everything the page asked the network for or complained about."""

    def __init__(self, write: int, read: int) -> None:
        self.write, self.read = write, read
        self.buffer = b""
        self.number = 0
        self.session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loaded = 0

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            self.take(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser is gone")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def take(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters["args"]))
            case "Page.loadEventFired":
                self.loaded += 1

    def open(self, page: Path) -> None:
        self.requests.clear()
        before = self.loaded
        self.call("Page.navigate", url=page.as_uri())
        while self.loaded == before:
            self.take(self.message())

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": name}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        codes = {"Tab": 9, "Enter": 13}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        if key == "Enter":
            text = {"text": "\r"}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **code, **(text if kind == "keyDown" else {}))

    def picture(self) -> bytes:
        return b64decode(self.call("Page.captureScreenshot", format="png")["data"])


@contextlib.contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A browser with one empty page; both are gone at the end, with everything they wrote."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    def descriptors() -> None:
        # Above 4 first: a pipe's end may itself be 3 or 4.
        ends = os.dup(to_read), os.dup(from_write)
        copies = [os.dup2(end, 20 + place) for place, end in enumerate(ends)]
        for place, copy in enumerate(copies):
            os.dup2(copy, 3 + place)

    options = ["--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    options += ["--disable-background-networking", "--disable-extensions", "--font-render-hinting=none", "--hide-scrollbars"]
    process = subprocess.Popen(  # noqa: S603
        [program, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=descriptors,  # noqa: PLW1509
        start_new_session=True,
    )
    os.close(to_read)
    os.close(from_write)
    driven = Browser(to_write, from_read)
    try:
        driven.attach()
        yield driven
        driven.session = None
        driven.call("Browser.close")
    finally:
        os.close(to_write)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(from_read)


def pixels(png: bytes) -> tuple[int, float]:
    """How many colours a picture has, and how light it is on the whole, from 0 to 255."""
    place, packed, width, channels = 8, b"", 0, 3
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        content = png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack_from(">IIBB", content)
            assert depth == 8 and colour in (2, 6), "a picture of another kind"
            channels = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += content
        place += 12 + length
    raw = zlib.decompress(packed)
    stride = width * channels
    before = bytearray(stride)
    colours: set[bytes] = set()
    light = count = 0
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for index in range(stride):
            left = line[index - channels] if index >= channels else 0
            above = before[index]
            corner = before[index - channels] if index >= channels else 0
            if kind == 1:
                line[index] = (line[index] + left) & 255
            elif kind == 2:
                line[index] = (line[index] + above) & 255
            elif kind == 3:
                line[index] = (line[index] + (left + above) // 2) & 255
            elif kind == 4:
                nearest = min((left, above, corner), key=lambda byte: abs(left + above - corner - byte))
                line[index] = (line[index] + nearest) & 255
        before = line
        for index in range(0, stride, channels * 7):
            colours.add(bytes(line[index : index + 3]))
            light += line[index]
            count += 1
    return len(colours), light / count
