// Approvals with widely used clients that do not know them: each just answers a function call.
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { SignalboxHere } from '../support/services/start-signalbox.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { answerTo, startAskingSignalbox, user, write, writing } from '../support/approvals-client.js';
import { openAiMajors } from '../support/newest-sdk.js';
import { functionTool, messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedHere>>>;
let box: SignalboxHere;

beforeAll(async () => {
  asking = await startAskingSignalbox(startSignalboxHere);
  ({ box } = asking);
}, 60_000);
afterAll(() => asking?.close());

interface Asked {
  id: string;
  name: string;
  arguments: { id: string; tool: string; arguments: JsonObject; reason?: string };
}

for (const [version, Client] of openAiMajors(OpenAI)) {
  describe(`the openai SDK ${version}`, () => {
    const client = () => new Client({ baseURL: `${box.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const session = (name: string) => `${name}_${version}`;

    /** Runs one turn, streamed or not. */
    async function turn(messages: OpenAI.ChatCompletionMessageParam[], session_id: string, stream: boolean) {
      const request = { model: 'scripted/model', messages, tools: [workspaceTools] as never, session_id };
      const message = stream
        ? (
            await client()
              .chat.completions.stream({ ...request })
              .finalChatCompletion()
          ).choices[0]!
        : (await client().chat.completions.create(request)).choices[0]!;
      const calls = (message.message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      const asked = calls.map((call): Asked => ({
        id: call.id,
        name: call.function.name,
        arguments: JSON.parse(call.function.arguments) as Asked['arguments'],
      }));
      return { finish: message.finish_reason, said: message.message, asked };
    }

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'as one body';

      verifies('approvals.returned', `approves, ${how}`, async () => {
        asking.follow(writing('a.txt'));
        const name = session(`approve_${stream}`);
        const first = await turn([user('Write')], name, stream);
        expect(first.finish).toBe('tool_calls');
        expect(first.asked).toMatchObject([
          {
            name: 'approval_request',
            arguments: {
              tool: 'write_file',
              arguments: { path: 'a.txt', content: 'one' },
              rule: 'writes',
              reason: 'Writes a file',
            },
          },
        ]);
        expect(await asking.fileOf(name, 'a.txt')).toBeUndefined();
        const [asked] = first.asked;
        expect(await asking.approval(asked!.arguments.id)).toMatchObject({ state: 'waiting', tool: 'write_file' });
        const second = await turn(
          [user('Write'), first.said, answerTo(asked!.id, { decision: 'approve' })],
          name,
          stream,
        );
        expect(second).toMatchObject({ finish: 'stop', asked: [] });
        expect(second.said.content).toContain('a.txt');
        expect(await asking.fileOf(name, 'a.txt')).toBe('one');
        expect(await asking.approval(asked!.arguments.id)).toMatchObject({ state: 'approved', decided_by: 'local' });
        const seen = JSON.stringify(box.upstream.requests.at(-1)!.body);
        expect(seen).not.toContain('approval_request');
      });

      verifies('approvals.returned', `denies with a reason, ${how}`, async () => {
        asking.follow(writing('b.txt'));
        const name = session(`deny_${stream}`);
        const first = await turn([user('Write')], name, stream);
        const answer = answerTo(first.asked[0]!.id, { decision: 'deny', reason: '不行，请不要写文件' });
        const second = await turn([user('Write'), first.said, answer], name, stream);
        expect(second.finish).toBe('stop');
        expect(second.said.content).toContain('不行，请不要写文件');
        expect(await asking.fileOf(name, 'b.txt')).toBeUndefined();
      });

      verifies('approvals.edited', `edits, ${how}`, async () => {
        asking.follow(writing('c.txt'));
        const name = session(`edit_${stream}`);
        const first = await turn([user('Write')], name, stream);
        const id = first.asked[0]!.id;
        const wrong = { decision: 'approve', arguments: { path: 5 } };
        await expect(turn([user('Write'), first.said, answerTo(id, wrong)], name, stream)).rejects.toMatchObject({
          status: 400,
        });
        const denied = { decision: 'approve', arguments: { path: 'etc/passwd', content: 'x' } };
        await expect(turn([user('Write'), first.said, answerTo(id, denied)], name, stream)).rejects.toMatchObject({
          code: 'tool_denied',
        });
        const edited = { decision: 'approve', arguments: { path: 'd.txt', content: 'zwei' } };
        const second = await turn([user('Write'), first.said, answerTo(id, edited)], name, stream);
        expect(second.finish).toBe('stop');
        expect([await asking.fileOf(name, 'c.txt'), await asking.fileOf(name, 'd.txt')]).toEqual([undefined, 'zwei']);
        const now = await asking.approval(first.asked[0]!.arguments.id);
        expect(now).toMatchObject({ state: 'approved', edited: true, arguments: { path: 'd.txt' } });
      });
    }

    verifies('approvals.undecided', 'an agent loop that answers every function', async () => {
      asking.follow(writing('loop.txt'));
      const name = session('loop');
      const messages: OpenAI.ChatCompletionMessageParam[] = [user('Write')];
      const ids = new Set<string>();
      for (let asked = 0; asked < 4; asked += 1) {
        const { said, asked: requests, finish } = await turn(messages, name, false);
        expect(finish).toBe('tool_calls');
        ids.add(requests[0]!.arguments.id);
        messages.push(said, answerTo(requests[0]!.id, 'Invalid tool_call: approval_request'));
      }
      expect(ids.size).toBe(1);
      await expect(turn(messages, name, false)).rejects.toMatchObject({ status: 400, param: 'messages' });
      expect(await asking.approval([...ids][0]!)).toMatchObject({ state: 'waiting' });
      messages.push(
        ...messages.slice(1, 2),
        answerTo((messages[2] as { tool_call_id: string }).tool_call_id, { decision: 'approve' }),
      );
      const last = await turn(messages, name, false);
      expect(last.finish).toBe('stop');
      expect(await asking.fileOf(name, 'loop.txt')).toBe('one');
    });

    verifies('approvals.stored-call', 'arguments that the caller changed in its copy, sent twice at once', async () => {
      asking.follow(
        rounds(
          { toolCalls: [write('log.txt', 'x')] },
          {
            text: 'done',
          },
        ),
      );
      const name = session('tampered');
      const first = await turn([user('Write')], name, false);
      const copy = structuredClone(first.said) as { tool_calls: { function: { arguments: string } }[] };
      copy.tool_calls[0]!.function.arguments = copy.tool_calls[0]!.function.arguments.replaceAll('log.txt', 'evil.txt');
      const messages = [user('Write'), copy as never, answerTo(first.asked[0]!.id, { decision: 'approve' })];
      const both = await Promise.all([turn(messages, name, false), turn(messages, name, true)]);
      expect(both.map(({ finish }) => finish)).toEqual(['stop', 'stop']);
      // Sent once more, as by a client that lost the answer.
      expect((await turn(messages, name, false)).finish).toBe('stop');
      expect(await asking.fileOf(name, 'log.txt')).toBe('x');
      expect(await asking.fileOf(name, 'evil.txt')).toBeUndefined();
    });
  });
}

verifies(
  'approvals.returned',
  'a round with a call that is allowed, one that waits, and one of the caller',
  async () => {
    asking.follow(
      rounds(
        {
          toolCalls: [
            { id: 'a', name: 'list_directory', arguments: {} },
            { id: 'b', name: 'write_file', arguments: { path: 'm.txt', content: 'mixed' } },
            { id: 'c', name: 'ask_person', arguments: { q: 'name?' } },
          ],
        },
        (request) => ({
          text: messagesOf(request)
            .slice(-3)
            .map((message) => message['content'] as string)
            .join(' | '),
        }),
      ),
    );
    const request = { tools: [workspaceTools, functionTool('ask_person')], session_id: 'mixed' };
    const first = await post(box.url, '/v1/chat/completions', { ...request, messages: [user('x')] });
    const { message } = first.body.choices[0]!;
    const calls = message.tool_calls!;
    expect(calls.map((call) => call.function.name)).toEqual(['ask_person', 'approval_request']);
    expect(first.body.tool_execution).toMatchObject({ tools_called: ['list_directory'] });
    const messages = [
      user('x'),
      message,
      answerTo(calls[0]!.id, 'Ada'),
      answerTo(calls[1]!.id, { decision: 'approve' }),
    ];
    const second = await post(box.url, '/v1/chat/completions', { ...request, messages });
    expect(second.body.choices[0]!.message.content).toMatch(/ \| .*m\.txt.* \| Ada$/);
    expect(second.body.tool_execution).toMatchObject({ tools_called: ['write_file'] });
    expect(await asking.fileOf('mixed', 'm.txt')).toBe('mixed');
  },
);
