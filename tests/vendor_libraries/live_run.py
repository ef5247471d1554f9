"""Installs the pinned libraries, runs their programs against a served ingest host, and records what they send."""

import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from playwright.async_api import async_playwright

from hosts.asgi_runner import bind_listener, serve_until_shutdown
from service_core.kernel.clock import system_clock
from service_core.testing.ingest_protocol import RecordedRequest
from tests.analytics.deployment import run_deployment
from tests.fixtures.browser_deployment import CHROMIUM
from tests.hosts.ingest.protocol_host import ProtocolDeployment
from tests.vendor_libraries.libraries import BROWSER, FOLDER, PACKED, PYTHON, PYTHON_PINS, pinned_version
from tests.vendor_libraries.recordings import NOT_KEPT, RecordedExchange, Recording
from tests.vendor_libraries.shop import SITE, open_shop

GUARD_SECONDS = 60
LOCAL_ADDRESSES = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
"""Lets a page of the site, which is not on this machine, send to the host under test, which is."""
QUIET_SECONDS = 1.0
PAGE = f"{SITE}/sale?utm_source=news&utm_medium=email&utm_campaign=july"
HTML = "<!doctype html><meta charset=utf-8><title>Sale &amp; more</title><script>window.visit = %s</script><script src=/program.js></script>"
USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
STUBS = (
    "react-native", "react-native-get-random-values", "@react-native-async-storage/async-storage", "expo-modules-core",
    "@react-native-community/netinfo", "react-native-device-info",
)  # fmt: skip
"""Packages of which the native side is missing in Node."""


class RecordingApp:
    """Passes requests on to an application, and keeps them with the time of a deployment's clock."""

    def __init__(self, deployment):
        self.deployment, self.exchanges, self.last = deployment, [], 0.0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] == "OPTIONS":
            return await self.deployment.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.deployment.served.now = at = system_clock()
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again():
            return messages.pop() if messages else await receive()

        async def send_and_keep(message):
            if message["type"] == "http.response.start":
                headers = {
                    name: value
                    for name, value in ((n.decode(), v.decode()) for n, v in scope["headers"])
                    if name not in NOT_KEPT and not name.startswith("sec-")
                }
                query = scope["query_string"].decode()
                request = RecordedRequest(scope["path"], body, query, headers, scope["method"])
                self.exchanges.append(RecordedExchange(at, request, message["status"]))
                self.last = asyncio.get_running_loop().time()
            await send(message)

        return await self.deployment.app(scope, receive_again, send_and_keep)

    async def wait_until_quiet(self):
        """Returns when nothing has arrived for a second."""
        clock = asyncio.get_running_loop().time
        self.last = max(self.last, clock())
        while clock() < self.last + QUIET_SECONDS:
            await asyncio.sleep(0.05)


class LiveRun:
    """A served ingest host, the installed libraries, and a browser."""

    def __init__(self, folder, recorder, url, browser):
        self.folder, self.recorder, self.url, self.browser = folder, recorder, url, browser

    async def run(self, library):
        """Runs the program of a library; returns its host and the recording."""
        self.recorder.exchanges = []
        host = await open_shop(self.recorder.deployment, library)
        order_time = (system_clock() - timedelta(hours=1)).replace(microsecond=0)
        key = host.public_id if library.is_public else host.write_key
        if library.kind == BROWSER:
            await self._run_in_browser(library, key)
        else:
            await self._run_in_process(library, key, order_time)
        await self.recorder.wait_until_quiet()
        return host, Recording(pinned_version(library), order_time, tuple(self.recorder.exchanges))

    async def _run_in_process(self, library, key, order_time):
        command = [self.folder / "venv/bin/python", library.program]
        if library.kind != PYTHON:
            command = ["node", self._bundle(library, "--platform=node", "--format=esm")]
        visit = {"VISIT_HOST": self.url, "VISIT_KEY": key, "VISIT_ORDER_TIME": order_time.isoformat()}
        process = await asyncio.create_subprocess_exec(
            *map(str, command), env=os.environ | visit, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )  # fmt: skip
        try:
            async with asyncio.timeout(GUARD_SECONDS):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, f"{library.name}:\n{output.decode()[-2000:]}"

    async def _run_in_browser(self, library, key):
        program = self._bundle(library, "--format=esm").read_text()
        visit = f'{{"HOST": "{self.url}", "KEY": "{key}", "ORDER": "order-1"}}'
        files = {
            "/program.js": f"(async () => {{ {program} ; window.done = true; }})()",
            "/umami.js": self.folder.joinpath("package/src/tracker/index.js").read_text(),
        }

        async def answer(route, request):
            path = request.url.removeprefix(SITE)
            kind = "text/javascript" if path in files else "text/html"
            page = "" if path == "/gone" else HTML % visit
            await route.fulfill(body=files.get(path, page), content_type=kind)

        context = await self.browser.new_context(locale="en-GB")
        try:
            await context.route(f"{SITE}/**", answer)
            await context.route("https://www.google-analytics.com/**", self._forward)
            page = await context.new_page()
            faults = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await page.goto(PAGE, referer="https://www.google.com/")
            await page.wait_for_function("window.done", timeout=GUARD_SECONDS * 1000)
            await page.goto(f"{SITE}/gone")
            await self.recorder.wait_until_quiet()
            assert not faults, f"{library.name}: {faults}"
        finally:
            await context.close()

    async def _forward(self, route, request):
        """Sends a request for a host that a library has no setting for to the host under test."""
        path = request.url.removeprefix("https://www.google-analytics.com")
        response = await route.fetch(url=self.url + path)
        await route.fulfill(response=response)

    def _bundle(self, library, *options):
        """Returns the program with the libraries it imports as one file."""
        made = self.folder / f"{library.name}.mjs"
        stub = FOLDER / "react_native/stubs/platform.cjs"
        esbuild = [
            self.folder / "node_modules/.bin/esbuild", library.program, "--bundle", f"--outfile={made}", *options,
            "--log-level=error", "--external:expo-network", "--main-fields=module,main", "--loader:.js=jsx", "--define:__DEV__=false",
            '--define:process.env.NODE_ENV="production"',
            "--banner:js=" + ("" if library.kind == BROWSER else "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"),
            *(f"--alias:{name}={stub}" for name in STUBS),
        ]  # fmt: skip
        _run(*esbuild, cwd=self.folder, env=os.environ | {"NODE_PATH": str(self.folder / "node_modules")})
        return made


def _run(*command, cwd, env=None):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(folder):
    """Installs the libraries as they are pinned, digests checked; does nothing when they are."""
    folder.mkdir(parents=True, exist_ok=True)
    pins = (FOLDER / "package-lock.json").read_text() + PYTHON_PINS.read_text()
    if (folder / "installed.txt").exists() and (folder / "installed.txt").read_text() == pins:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FOLDER / name, folder)
    _run(
        "npm",
        "install",
        "--no-save",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--legacy-peer-deps",
        cwd=folder,
    )
    for package, (version, integrity) in PACKED.items():
        packed = _run("npm", "pack", "--silent", "--json", f"{package}@{version}", cwd=folder)
        assert integrity in packed, packed
        with tarfile.open(folder / f"{package}-{version}.tgz") as archive:
            archive.extractall(folder, filter="data")
    uv = (sys.executable, "-m", "uv")
    _run(*uv, "venv", "-q", "--clear", "--python", sys.executable, folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    _run(*uv, "pip", "install", "-q", "--python", python, "--require-hashes", "-r", PYTHON_PINS, cwd=folder)
    (folder / "installed.txt").write_text(pins)


@asynccontextmanager
async def start_live_run(folder: Path, data: Path):
    """Serves the ingest host over a deployment whose data are in a folder."""
    async with run_deployment("memory", data) as served, async_playwright() as playwright:
        served.now = system_clock()
        recorder = RecordingApp(ProtocolDeployment(served))
        stop, listener = asyncio.Event(), bind_listener("127.0.0.1:0")
        serving = asyncio.create_task(serve_until_shutdown(recorder, listener, "uvicorn", stop))
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", LOCAL_ADDRESSES, f"--user-agent={USER_AGENT}"]
        )
        yield LiveRun(folder, recorder, f"http://127.0.0.1:{listener.getsockname()[1]}", browser)
        await browser.close()
        stop.set()
        await serving
