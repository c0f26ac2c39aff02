"""Headless Chromium through chromedriver, in plain WebDriver HTTP: https://www.w3.org/TR/webdriver2/."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the standard's name for a reference to an element


class Browser:
    """One tab. Everything a page logs and asks for is kept; see console() and requested()."""

    ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-dev-shm-usage")

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="hearth-browser.")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.root = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(self.profile, "chromedriver.log"), "wb")
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=self.log, stderr=self.log)
        self.session = None
        try:
            self._wait_for_driver(30)
            options = {"args": [*self.ARGUMENTS, f"--user-data-dir={self.profile}/profile"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{answer['sessionId']}"
            # The browser's own first page has asked for parts of the browser.
            self.open("about:blank")
            self._logged("performance")
        except BaseException:
            self.close()
            raise
        self._requested = []

    def close(self):
        if self.session:
            with contextlib.suppress(OSError, RuntimeError):
                self._call("DELETE", self.session)
        self.driver.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.driver.wait(timeout=10)
        if self.driver.poll() is None:
            self.driver.kill()
            self.driver.wait()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _wait_for_driver(self, seconds):
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError, ValueError):
                if self._call("GET", "/status")["ready"]:
                    return
            if time.monotonic() > end or self.driver.poll() is not None:
                raise RuntimeError("chromedriver does not start")
            time.sleep(0.05)

    def _call(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            raise RuntimeError(f"{path}: {told['error']}: {told['message'].splitlines()[0]}") from None

    # ---------------------------------------------------------------- the page

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """What the body of a function returns in the page."""
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def resize(self, width, height, mobile=False, dark=False):
        """The size of the page itself, which no window of its own bounds."""
        self._devtools("Emulation.setDeviceMetricsOverride",
                       {"width": width, "height": height, "deviceScaleFactor": 2 if mobile else 1, "mobile": mobile})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", {"features": [scheme]})

    def _devtools(self, command, params):
        self._call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": params})

    def find(self, selector):
        found = self._call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return f"{self.session}/element/{found[ELEMENT]}"

    def click(self, selector):
        """As a person does: fails when something covers the element or it cannot be seen."""
        self._call("POST", self.find(selector) + "/click")

    def type(self, selector, text):
        self._call("POST", self.find(selector) + "/value", {"text": text})

    def text(self, selector):
        """What can be seen of its text."""
        return self._call("GET", self.find(selector) + "/text")

    def screenshot(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(base64.b64decode(self._call("GET", self.session + "/screenshot")))

    # ---------------------------------------------------------------- what it did

    def console(self):
        """What the page and the browser have written to the console since the last call: [(level, message)]."""
        return [(entry["level"], entry["message"]) for entry in self._logged("browser")]

    def requested(self):
        """The addresses of everything the tab has asked for so far."""
        for entry in self._logged("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self._requested.append(event["params"]["request"]["url"])
        return self._requested

    def _logged(self, kind):
        return self._call("POST", self.session + "/se/log", {"type": kind})
