# The documentation's Python client, as users write it with `requests`: run by test/e2e/examples.test.ts.
import json, sys, requests
base = sys.argv[1]
url = base + '/api/chat/completions'
plain = {'model': 'llama3.2', 'messages': [{'role': 'user', 'content': '你好'}],
         'session_id': None, 'tools': [], 'tool_choice': 'auto'}
answer = requests.post(url, json=plain, timeout=20)
assert answer.status_code == 200, answer.text
assert answer.json()['choices'][0]['message']['content']

streamed = dict(plain, stream=True)
with requests.post(url, json=streamed, stream=True, timeout=20) as answer:
    assert answer.headers.get('content-type') == 'text/event-stream', answer.headers
    types, done = [], False
    for line in answer.iter_lines():
        if not line:
            continue
        line = line.decode('utf-8')
        if not line.startswith('data: '):
            continue
        data = line[6:]
        if data == '[DONE]':
            done = True
            break
        types.append(json.loads(data)['type'])
assert types[0] == 'start' and types[-1] == 'done' and 'content' in types, types
assert done

tool = {'type': 'function', 'function': {'name': 'read_file', 'description': '读取文件', 'parameters': {
    'type': 'object', 'properties': {'path': {'type': 'string'}}, 'required': ['path']}}}
question = {'role': 'user', 'content': '请读取/tmp/config.json文件并告诉我其中的版本号'}
first = requests.post(url, json={'messages': [question], 'tools': [tool], 'tool_mode': 'manual'}, timeout=20).json()
message = first['choices'][0]['message']
call = message['tool_calls'][0]
assert json.loads(call['function']['arguments']) == {'path': '/tmp/config.json'}, call
result = {'role': 'tool', 'tool_call_id': call['id'],
          'content': json.dumps({'version': '2.3.1', 'name': 'MyApp', 'author': 'DevTeam'})}
second = requests.post(url, json={'messages': [question, message, result]}, timeout=20).json()
assert '2.3.1' in second['choices'][0]['message']['content'], second

requests.put(base + '/api/sessions/sess_python/files/test.txt', data=b'hello from python', timeout=20)
body = {'messages': [{'role': 'user', 'content': '读取test.txt文件'}], 'session_id': 'sess_python', 'tools': [tool]}
answer = requests.post(url, json=body, timeout=20).json()
assert 'hello from python' in answer['choices'][0]['message']['content'], answer
assert answer['tool_execution']['tools_called'] == ['read_file'], answer
print('all is well')
