#!/usr/bin/env python3
"""What scripts/test_containers.sh asks the running containers. Standard library only.

checks.py chat GATEWAY          models, chat whole and streamed, a tool call with its result, a refusal
checks.py metrics PROMETHEUS    all three processes are scraped, with every metric of the goldens
checks.py dashboard PROMETHEUS  every query of the dashboard returns data
checks.py health GATEWAY WANT   waits until /health is: ready, degraded, down
checks.py cut GATEWAY COMMAND.. runs COMMAND while a stream runs; the stream must end with an error event or be cut
checks.py adopted GATEWAY       the worker took over an expert home that was there
checks.py idle PROMETHEUS       the worker runs no request
"""

import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DASHBOARD = os.path.join(ROOT, "deploy", "compose", "grafana", "dashboards", "hearth.json")
GOLDENS = {"gateway": "gateway", "gpu_worker": "worker", "cpu_tier": "tier"}
PATIENCE = float(os.environ.get("HEARTH_TEST_PATIENCE", "120"))
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def fetch(url, body=None, timeout=60):
    """-> status, parsed answer (or text)"""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=timeout
        ) as r:
            status, text = r.status, r.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def poll(condition, what, seconds=PATIENCE):
    """Asks until the condition gives something true; its last complaint is part of the failure."""
    end, last = time.monotonic() + seconds, None
    while True:
        try:
            value = condition()
            if value:
                return value
        except (OSError, AssertionError) as error:
            last = error
        if time.monotonic() > end:
            sys.exit(f"not within {seconds:.0f} s: {what}" + (f" ({last})" if last else ""))
        time.sleep(0.3)


def ask(url, messages, **fields):
    status, answer = fetch(
        f"{url}/v1/chat/completions", {"model": "glm-5.3-flash", "messages": messages, "temperature": 0, **fields}
    )
    assert status == 200, (status, answer)
    return answer["choices"][0]


def chat(url):
    status, models = fetch(f"{url}/v1/models")
    assert status == 200 and "glm-5.3-flash" in [m["id"] for m in models["data"]], models
    question = [{"role": "user", "content": "What is an expert cache?"}]
    whole = ask(url, question)["message"]
    assert "cache" in whole["content"] and whole["reasoning_content"], whole
    body = json.dumps({"model": "glm-5.3-flash", "messages": question, "temperature": 0, "stream": True}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"})
    text, events = "", 0
    with urllib.request.urlopen(request, timeout=60) as response:
        for line in response:
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                assert "error" not in event, event
                events += 1
                text += "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    assert text == whole["content"] and events > 5, (text, whole["content"])
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    choice = ask(url, messages, tools=[WEATHER])
    assert choice["finish_reason"] == "tool_calls", choice
    call = choice["message"]["tool_calls"][0]
    assert (
        call["function"]["name"] == "get_weather" and "Paris" in json.loads(call["function"]["arguments"]).values()
    ), call
    messages += [
        choice["message"],
        {"role": "tool", "tool_call_id": call["id"], "content": '{"temperature": 18, "sky": "clear"}'},
    ]
    assert ask(url, messages, tools=[WEATHER])["message"]["content"]
    status, refusal = fetch(f"{url}/v1/chat/completions", {"messages": question, "temperature": -1})
    assert status == 400 and refusal["error"]["param"] == "temperature", refusal
    print(f"chat: {len(text)} characters in {events} events, a tool call and its answer, a refusal with its field")


def query(prometheus, expression):
    status, answer = fetch(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    assert status == 200 and answer["status"] == "success", (expression, answer)
    return answer["data"]["result"]


def golden_names(process):
    with open(os.path.join(ROOT, "tests", "golden", f"metrics_{process}.txt")) as f:
        return sorted(set(re.findall(r"^(hearth_\w+) (?:counter|gauge|histogram)\b", f.read(), re.M)))


def metrics(prometheus):
    def all_up():
        status, answer = fetch(f"{prometheus}/api/v1/targets")
        assert status == 200, answer
        health = {t["labels"]["job"]: (t["health"], t["lastError"]) for t in answer["data"]["activeTargets"]}
        assert all(health.get(job, ("", ""))[0] == "up" for job in GOLDENS), health
        return True

    poll(all_up, "all targets are up")
    counts = {}
    for job, process in GOLDENS.items():
        names = golden_names(process)

        def complete():
            have = {r["metric"]["__name__"] for r in query(prometheus, f'{{job="{job}",__name__=~"hearth_.*"}}')}
            missing = [n for n in names if not {n, f"{n}_bucket"} & have]
            assert not missing, f"{job} lacks {missing}"
            return True

        poll(complete, f"every metric of {job}", 30)
        counts[job] = len(names)
    print(f"metrics: {counts}, all there")


def dashboard(prometheus):
    with open(DASHBOARD) as f:
        panels = json.load(f)["panels"]
    queries = [(p["title"], t["expr"].replace("$__rate_interval", "2m")) for p in panels for t in p.get("targets", [])]
    for title, expression in queries:
        poll(
            lambda: [r for r in query(prometheus, expression) if r["value"][1] != "NaN"],
            f"data for {title}: {expression}",
            60,
        )
    print(f"dashboard: {len(queries)} queries, all with data")


def health(url, want):
    def reached():
        try:
            status, body = fetch(f"{url}/health", timeout=3)
        except OSError:
            return want == "down"
        if want == "down":
            return status == 503
        assert status == 200, body
        return bool(body["degraded"]) == (want == "degraded")

    begin = time.monotonic()
    poll(reached, f"/health is {want}")
    print(f"health: {want} after {time.monotonic() - begin:.1f} s")


def cut(url, command):
    body = {
        "input_ids": [100] * 32,
        "stream": True,
        "sampling_params": {"temperature": 0, "max_new_tokens": 7000, "ignore_eos": True},
    }
    request = urllib.request.Request(f"{url}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"})
    events, problem, done = 0, None, False
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            for line in response:
                if not line.startswith(b"data: "):
                    continue
                done = done or line.strip() == b"data: [DONE]"
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    problem = event.get("error") or problem
                    events += 1
                    if events == 20:
                        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    except (OSError, http.client.HTTPException) as error:
        problem = {"message": f"connection cut: {type(error).__name__}"}
    if not problem and not done:
        problem = {"message": "nothing: the stream ended without [DONE]"}
    assert events >= 20 and problem, f"{events} events, [DONE] {done}: the stream was not ended by {command}"
    print(f"cut: after {events} events the client was told: {problem['message']}")


def adopted(url):
    status, info = fetch(f"{url}/server_info")
    assert status == 200 and info["adopted_home"] is True, info
    print(f"adopted: home taken over, ready after {info['load_seconds']:.2f} s of loading")


def idle(prometheus):
    poll(lambda: [r for r in query(prometheus, 'hearth_requests_running{job="gpu_worker"} == 0')], "the worker is idle")
    print("idle: the worker runs no request")


def main():
    name, *words = sys.argv[1:]
    {
        "chat": chat,
        "metrics": metrics,
        "dashboard": dashboard,
        "health": health,
        "adopted": adopted,
        "idle": idle,
        "cut": lambda url, *command: cut(url, list(command)),
    }[name](*words)


if __name__ == "__main__":
    main()
