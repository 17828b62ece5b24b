// Questions of tool servers, passed on to the official MCP clients on /mcp, with both eras on either side.
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { type Answered, askedClients, comesBack } from '../support/asking-clients.js';
import { answersIn, asking, askingServersOfFile, decide, shown } from '../support/asking-servers.js';
import { mcpClients } from '../support/mcp-clients.js';
import { verifies } from '../verifies.js';

askingServersOfFile();

const textOf = (result: { content?: unknown }) => (result.content as { text: string }[])[0]!.text;
const accepted: Answered = { action: 'accept', content: { name: 'Ada' } };
const answers: [string, Answered, JsonObject][] = [
  ['accepted', accepted, { action: 'accept', content: { name: 'Ada' } }],
  ['declined', { action: 'decline' }, { action: 'decline' }],
  ['cancelled', { action: 'cancel' }, { action: 'decline' }],
  ['with other content than was asked for', { action: 'accept', content: { age: 5 } }, { action: 'decline' }],
];

for (const [name, connect] of Object.entries(askedClients)) {
  for (const tool of ['book_http', 'book_new_http']) {
    verifies('questions.mcp', `${name}, ${tool}: two questions of one call`, async () => {
      const messages: string[] = [];
      const client = await connect(asking.box.url, ({ message }) => {
        messages.push(message);
        return accepted;
      });
      const text = textOf(await client.call({ name: tool, arguments: { times: 2 } }));
      await client.close();
      expect(messages).toEqual(['Who travels? (1)', 'Who travels? (2)']);
      expect(answersIn(text)).toMatchObject([answers[0]![2], answers[0]![2]]);
    });
  }

  for (const [how, given, reported] of answers.slice(1)) {
    verifies('questions.mcp', `${name}: ${how}`, async () => {
      const client = await connect(asking.box.url, () => given);
      const text = textOf(await client.call({ name: 'book_http', arguments: {} }));
      await client.close();
      expect(answersIn(text)).toMatchObject([reported]);
    });
  }

  if (comesBack(name)) continue;

  verifies('questions.mcp', `${name}: answered elsewhere, on the other gateway`, async () => {
    const client = await connect(asking.box.url, async (_question, signal) => {
      const waiting = (await (await fetch(`${asking.box.url}/api/approvals?state=waiting`)).json()) as JsonObject;
      const [{ id }] = waiting['data'] as [{ id: string }];
      await decide(id, { decision: 'approve', arguments: { name: 'Grace' } });
      expect(await shown(id)).toMatchObject({ kind: 'question', state: 'approved' });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { action: 'cancel' };
    });
    const text = textOf(await client.call({ name: 'book_http', arguments: {} }));
    await client.close();
    expect(answersIn(text)).toMatchObject([{ action: 'accept', content: { name: 'Grace' } }]);
  });
}

verifies('questions.mcp', 'a client that cannot be asked: the server is refused', async () => {
  for (const connect of Object.values(mcpClients)) {
    const client = await connect(asking.box.url);
    const text = textOf(await client.call({ name: 'book_http', arguments: {} }));
    expect(answersIn(text)).toMatchObject([{ code: -32601 }]);
    await client.close();
  }
});
