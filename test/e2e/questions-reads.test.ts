// Questions of tool servers while they are asked for a resource or a prompt, passed on to the official MCP clients on /mcp, with both eras on
// either side.
import { beforeAll, expect, vi } from 'vitest';
import { type Answered, askedClients } from '../support/asking-clients.js';
import { asking, askingServersOfFile, long } from '../support/asking-servers.js';
import { mcpClients, withClients } from '../support/mcp-clients.js';
import { verifies } from '../verifies.js';

askingServersOfFile();
beforeAll(() =>
  vi.waitFor(async () => {
    const { data } = await ask('/api/prompts');
    const names = (data as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['oldHttp__old_interview', 'modernHttp__new_interview']));
  }, long),
);

async function ask(path: string, body?: object) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(asking.box.url + path, body === undefined ? {} : init);
  return (await answer.json()) as { data?: unknown; contents?: { text: string }[]; error?: { message: string } };
}

const accepted: Answered = { action: 'accept', content: { name: 'Ada' } };
const servers = [
  ['oldHttp', 'old'],
  ['modernHttp', 'new'],
] as const;

for (const [name, connect] of Object.entries(askedClients)) {
  for (const [server, era] of servers) {
    verifies('questions.reads', `${name}, ${server}`, async () => {
      const messages: string[] = [];
      const client = await connect(asking.box.url, ({ message }) => {
        messages.push(message);
        return messages.length === 2 ? { action: 'decline' } : accepted;
      });
      const uri = `signalbox://${server}/doc://${era}-form`;
      const { contents } = await client.read(uri);
      expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject([accepted, { action: 'decline' }]);
      const prompt = await client.prompt(`${server}__${era}_interview`);
      await client.close();
      const { text } = (prompt.messages[0] as { content: { text: string } }).content;
      expect(JSON.parse(text)).toMatchObject([accepted]);
      expect(messages).toEqual(['Who reads?', 'Who else?', 'Who asks?']);
    });
  }
}

verifies('questions.reads', 'where nobody can be asked, the error says so, and roots are known', async () => {
  const refused = /does not support that request|not supported here \(elicitation\/create\)/;
  await withClients(asking.box.url, Object.keys(mcpClients) as (keyof typeof mcpClients)[], async (...clients) => {
    for (const client of clients) {
      for (const [server, era] of servers) {
        const uri = `signalbox://${server}/doc://${era}-form`;
        await expect(client.request('resources/read', { uri })).rejects.toThrow(refused);
        const name = `${server}__${era}_interview`;
        await expect(client.request('prompts/get', { name })).rejects.toThrow(refused);
      }
    }
  });
  for (const [server, era] of servers) {
    const { error } = await ask('/api/resources/read', { uri: `doc://${era}-form`, server });
    expect(error?.message).toMatch(refused);
  }
  const { contents } = await ask('/api/resources/read', { uri: 'doc://old-roots', server: 'old' });
  expect(JSON.parse(contents![0]!.text)).toMatchObject([{ name: 'workspace' }]);
});
