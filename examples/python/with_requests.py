"""Chat, stream, tools, approval and files of a Signalbox gateway with nothing but `requests`.

    python3 with_requests.py http://127.0.0.1:8000
"""

import json
import sys
import uuid

import requests

base_url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
api_key = sys.argv[2] if len(sys.argv) > 2 else None
gateway = requests.Session()
if api_key:
    gateway.headers["Authorization"] = f"Bearer {api_key}"


def answer_of(response):
    """The answer, or an exception with the code and the request id of the error."""
    if response.ok:
        return response.json()
    error = response.json()["error"]
    raise RuntimeError(f"{response.status_code} {error['code']}: {error['message']} ({error['request_id']})")


def chat(**request):
    # With a key, the same request can be sent again without running a tool twice.
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    return answer_of(gateway.post(f"{base_url}/api/chat/completions", json=request, headers=headers, timeout=660))


def events_of(response):
    """The events of a stream. A stream without [DONE] broke off: its answer is not complete."""
    for line in response.iter_lines():
        if not line.startswith(b"data: "):
            continue
        data = line[len(b"data: ") :]
        if data == b"[DONE]":
            return
        event = json.loads(data)
        if "error" in event:
            raise RuntimeError(f"{event['error']['code']}: {event['error']['message']}")
        yield event
    raise RuntimeError("The stream broke off")


session = f"python_{uuid.uuid4().hex}"
workspace = {"type": "mcp", "server_label": "workspace"}

print("# A chat")
answer = chat(messages=[{"role": "user", "content": "你好"}])
print(answer["choices"][0]["message"]["content"].splitlines()[0])

print("# A file, which a tool reads")
gateway.put(f"{base_url}/api/sessions/{session}/files/list.txt", data="牛奶, bread".encode(), timeout=60).raise_for_status()
answer = chat(messages=[{"role": "user", "content": "Read list.txt"}], tools=[workspace], session_id=session)
print(answer["tool_execution"]["tools_called"])

print("# The same as a stream")
request = {
    "messages": [{"role": "user", "content": "Read list.txt"}],
    "tools": [workspace],
    "session_id": session,
    "stream": True,
}
with gateway.post(f"{base_url}/api/chat/completions", json=request, stream=True, timeout=60) as response:
    if not response.ok:
        answer_of(response)
    for event in events_of(response):
        if event["type"] == "tool_result":
            print("result:", event["result"]["content"])
        if event["type"] == "done":
            print(event["finish_reason"])

print("# A call that needs an approval")
# Asked for by the request, whatever the policy of the gateway says.
asking = {**workspace, "require_approval": "always"}
messages = [{"role": "user", "content": "Delete list.txt"}]
answer = chat(messages=messages, tools=[asking], session_id=session)
message = answer["choices"][0]["message"]
messages.append(message)
for call in message.get("tool_calls", []):
    asked = json.loads(call["function"]["arguments"])
    print(call["function"]["name"], asked["tool"], asked["arguments"]["path"])
    decision = {"decision": "deny", "reason": "We still need it"}
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(decision)})
answer = chat(messages=messages, tools=[asking], session_id=session)
print("refused:", "We still need it" in answer["choices"][0]["message"]["content"])

print("# A tool without a chat, approved through the API if the policy asks for it")
call = {"name": "delete_file", "arguments": {"path": "list.txt"}, "session_id": session}
headers = {"Idempotency-Key": str(uuid.uuid4())}
response = gateway.post(f"{base_url}/api/tools/call", json=call, headers=headers, timeout=660)
if response.status_code == 202:
    approval = answer_of(response)["approval"]
    decided = gateway.post(f"{base_url}/api/approvals/{approval['id']}", json={"decision": "approve"}, timeout=60)
    answer_of(decided)
    # The same key runs it.
    response = gateway.post(f"{base_url}/api/tools/call", json=call, headers=headers, timeout=660)
print(answer_of(response)["success"])

print("# The files of the session, then its end")
print(answer_of(gateway.get(f"{base_url}/api/sessions/{session}/files", timeout=60))["files"])
print(gateway.delete(f"{base_url}/api/sessions/{session}", timeout=60).status_code)
