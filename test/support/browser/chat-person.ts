// Somebody who chats in the console, by what a person sees.
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { messagesOf } from '../scripts.js';
import type { ReceivedRequest, ScriptedAnswer } from '../scripted-upstream.js';
import type { Person } from './test-browser.js';

export class ChatPerson {
  constructor(readonly person: Person) {}

  get page() {
    return this.person.page;
  }

  open = (session = '') => this.person.open(`chat${session === '' ? '' : `/${session}`}`);

  button = (name: string) => this.page.getByRole('button', { name, exact: true });

  message = () => this.page.getByRole('textbox', { name: 'Message' });

  answer = (text: string) => this.page.getByRole('article', { name: 'Assistant' }).filter({ hasText: text });

  card = (tool: string) => this.page.getByRole('region', { name: tool, exact: true });

  async say(text: string): Promise<void> {
    await this.message().fill(text);
    await this.message().press('Enter');
  }

  /** Of the conversation that is open. */
  session(): string {
    return decodeURIComponent(new URL(this.page.url()).pathname.split('/').at(-1)!);
  }

  async choose(tool: string): Promise<void> {
    await this.button('Tools').click();
    await this.page.getByRole('checkbox', { name: tool, exact: true }).check();
    await this.button('Done').click();
  }
}

export const plan =
  (answers: Record<string, (request: ReceivedRequest, round: number) => ScriptedAnswer>) =>
  (request: ReceivedRequest): ScriptedAnswer => {
    const messages = messagesOf(request);
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const round = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
    const said = messages[asked]?.['content'];
    const answer = typeof said === 'string' ? answers[said.split('\n')[0]!] : undefined;
    return answer === undefined ? { text: `You said: ${JSON.stringify(said)}` } : answer(request, round);
  };

/** A promise, and what keeps it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

export async function apiJson(url: string, path: string, key?: string): Promise<JsonObject> {
  const answer = await fetch(url + path, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as JsonObject;
}

/** A key with every scope. */
export async function makeOwnerKey(url: string, owner: string, key?: string): Promise<string> {
  const answer = await fetch(`${url}/api/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ owner, scopes: ['chat', 'tools', 'files', 'admin'] }),
  });
  return ((await answer.json()) as { key: string }).key;
}
