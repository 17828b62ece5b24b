// The documentation's examples with the clients that they are written for: curl, a browser's fetch, Python's requests.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type Completion, plainCompletion, user } from '../support/chat-client.js';
import { canRun, runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ scripted: false, environment: { ALLOWED_ORIGINS: 'https://app.example' } });
});
afterAll(() => box?.close());

describe.skipIf(!canRun('curl', ['--version']))('curl', () => {
  const json = ['-H', 'Content-Type: application/json'];
  const post = (input: string, path = '/api/chat/completions') =>
    runProgram('curl', ['-sS', '-X', 'POST', `${box.url}${path}`, ...json, '-d', '@-'], { input });

  verifies('chat.examples', 'plain chat with curl', async () => {
    const body = '{"model": "llama3.2", "messages": [{"role": "user", "content": "你好"}]}';
    const { stdout } = await post(body);
    expect(JSON.parse(stdout)).toEqual(plainCompletion);
    const strict = await post(body, '/v1/chat/completions');
    expect(JSON.parse(strict.stdout)).toEqual(plainCompletion);
  });

  verifies('apis.examples', 'every curl of the page', async () => {
    const page = await readFile(new URL('../../docs/chat-apis.md', import.meta.url), 'utf8');
    const commands = [...page.matchAll(/^```sh\n(curl .*?)^```$/gms)].map(([, command]) => command!);
    const answers = await Promise.all(
      commands.map(async (command) => {
        const { stdout } = await runProgram('sh', ['-c', command.replace('http://127.0.0.1:8000', box.url)]);
        return JSON.parse(stdout) as object;
      }),
    );
    const ran = expect.objectContaining({ tools_called: ['write_file'] });
    expect(answers).toMatchObject([
      { type: 'message', stop_reason: 'end_turn', tool_execution: ran },
      { object: 'response', status: 'completed', tool_execution: ran },
    ]);
  });

  verifies('chat.examples', 'a file put and read through a tool with curl', async () => {
    const file = `${box.url}/api/sessions/sess_demo/files/test.txt`;
    const uploaded = await runProgram('curl', ['-sS', '-X', 'PUT', '--data-binary', 'hello', file]);
    expect(JSON.parse(uploaded.stdout)).toMatchObject({ path: 'test.txt', size: 5 });
    const { stdout } = await post(`{
  "model": "llama3.2",
  "messages": [{"role": "user", "content": "读取test.txt文件"}],
  "session_id": "sess_demo",
  "tools": [{"type": "function", "function": {"name": "read_file", "description": "读取文件",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}]
}`);
    const answer = JSON.parse(stdout) as Completion;
    expect(answer.choices[0]!.message.content).toContain('hello');
    expect(answer.choices[0]!.finish_reason).toBe('stop');
    expect(answer.tool_execution).toMatchObject({
      executed: true,
      tools_called: ['read_file'],
      session_id: 'sess_demo',
      workspace_path: '/mcp_workspaces/sess_demo',
      rounds: 2,
      stopped_by: null,
    });
  });
});

verifies('chat.examples', 'a browser that splits on newlines', async () => {
  const body = { messages: [user('你好')], stream: true };
  const answer = await postJson(`${box.url}/api/chat/completions`, body, { origin: box.url });
  expect(answer.headers.get('access-control-allow-origin')).toBe(box.url);
  // Parses like a typical page: reader, decoder, split, slice; nothing more tolerant.
  const reader = answer.body!.getReader();
  const decoder = new TextDecoder();
  let buffer = '';
  let shown = '';
  let complete = false;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    buffer += decoder.decode(next.value as Uint8Array, { stream: true });
    const lines = buffer.split('\n');
    buffer = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue;
      const data = line.slice(6);
      if (data === '[DONE]') complete = true;
      else {
        const event = JSON.parse(data) as { type: string; delta?: { content?: string } };
        if (event.type === 'content') shown += event.delta!.content!;
      }
    }
  }
  expect(complete).toBe(true);
  expect(shown).not.toBe('');
});

verifies(
  'client.browser',
  'a page of an allowed origin may send what the library sends, and read what it reads',
  async () => {
    const origin = 'https://app.example';
    const headers = 'authorization,content-type,idempotency-key,if-match,if-none-match,last-event-id';
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const preflight = await fetch(`${box.url}/api/chat/completions`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': headers },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
      expect(preflight.headers.get('access-control-allow-methods')).toContain(method);
      expect(preflight.headers.get('access-control-allow-headers')).toBe(headers);
    }
    const answer = await fetch(`${box.url}/v1/models`, { headers: { origin } });
    const exposed = answer.headers.get('access-control-expose-headers')!.split(', ');
    expect(exposed).toEqual(expect.arrayContaining(['x-run-id', 'x-request-id', 'retry-after', 'etag']));
    expect((await fetch(`${box.url}/v1/models`, { headers: { origin: 'https://other.example' } })).status).toBe(403);
  },
);

const python = canRun('python3', ['-c', 'import requests']);
const pythonClient = fileURLToPath(new URL('../support/example-client.py', import.meta.url));
describe.skipIf(!python)('Python with requests', () => {
  verifies('chat.examples', 'requests.post, iter_lines, follow-up', async () => {
    const { code, stdout, stderr } = await runProgram('python3', [pythonClient, box.url]);
    expect(stderr).toBe('');
    expect(stdout.trim()).toBe('all is well');
    expect(code).toBe(0);
  });
});
