"""Chat, stream, tools, approval and files of a Signalbox gateway with the `openai` package.

    pip install openai
    python3 with_openai.py http://127.0.0.1:8000
"""

import json
import sys
import uuid

from openai import APIStatusError, OpenAI

base_url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
api_key = sys.argv[2] if len(sys.argv) > 2 else "none"
client = OpenAI(base_url=f"{base_url}/v1", api_key=api_key)

session = f"python_{uuid.uuid4().hex}"
# The package does not know these members, so they go into the body as they are.
workspace = {"type": "mcp", "server_label": "workspace"}
with_tools = {"tools": [workspace], "session_id": session}
# Asks for an approval of every call, whatever the policy of the gateway says.
with_approval = {"tools": [{**workspace, "require_approval": "always"}], "session_id": session}


def chat(messages, extra_body=with_tools):
    return client.chat.completions.create(model="default", messages=messages, extra_body=extra_body)


print("# A chat")
answer = client.chat.completions.create(model="default", messages=[{"role": "user", "content": "你好"}])
print(answer.choices[0].message.content.splitlines()[0])

print("# A tool writes a file")
answer = chat([{"role": "user", "content": 'Write "milk, bread" to list.txt'}])
print(answer.tool_execution["tools_called"])

print("# A stream")
stream = client.chat.completions.create(
    model="default",
    messages=[{"role": "user", "content": "读取 list.txt"}],
    stream=True,
    extra_body=with_tools,
)
text = ""
for chunk in stream:
    text += chunk.choices[0].delta.content or ""
print("milk, bread" in text)

print("# A call that needs an approval")
messages = [{"role": "user", "content": "Delete list.txt"}]
answer = chat(messages, with_approval)
messages.append(answer.choices[0].message)
for call in answer.choices[0].message.tool_calls or []:
    asked = json.loads(call.function.arguments)
    print(call.function.name, asked["tool"], asked["arguments"]["path"])
    messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps({"decision": "approve"})})
answer = chat(messages, with_approval)
print(answer.choices[0].finish_reason, answer.tool_execution["calls"][0]["success"])

print("# An error")
try:
    client.chat.completions.create(model="default", messages=[], extra_body=with_tools)
except APIStatusError as error:
    print(error.status_code, error.code, error.param)
