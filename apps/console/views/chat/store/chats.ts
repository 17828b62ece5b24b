// The conversations of one principal: the list of what this browser keeps, and those that are open. Turns run here, apart from what is
// shown, so that leaving a conversation does not end them.
import { consolePath } from '../../../api/addresses.js';
import { ExternalValue } from '../../../api/external-value.js';
import {
  type ChatConversation,
  newConversation,
  newId,
  noOptions,
  titleOf,
  type TurnOptions,
} from '../conversation/conversation.js';
import { forget, keep, type KeptConversation, listKept, readKept, StorageFullError } from './conversation-database.js';
import { keepDraft } from './drafts.js';
import { OpenChat } from './open-chat.js';

const mostSearched = 8_000;
export const mostConversations = 500;
const mostCharacters = 100_000_000;

export class Chats {
  readonly list = new ExternalValue<readonly KeptConversation[] | undefined>(undefined);
  /** Why conversations are not kept now. */
  readonly trouble = new ExternalValue<'full' | 'unavailable' | undefined>(undefined);
  private fresh = newId('chat_');
  private readonly open = new Map<string, Promise<OpenChat>>();
  private readonly news = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('signalbox.chat');

  constructor(readonly owner: string) {
    void this.refresh();
    this.news?.addEventListener('message', ({ data }: MessageEvent<string>) => {
      void this.refresh();
      void this.join(data);
    });
  }

  /** A conversation that is not known here is a new one, of the session of that name. */
  get(id: string): Promise<OpenChat> {
    const known = this.open.get(id);
    if (known !== undefined) return known;
    const opened = readKept(this.owner, id)
      .catch(() => this.fail('unavailable'))
      .then(
        (kept) =>
          new OpenChat(kept ?? newConversation(id, this.firstOptions()), (conversation) => this.save(conversation)),
      );
    this.open.set(id, opened);
    return opened;
  }

  /** The model of the last conversation; tools are off until they are chosen. */
  private firstOptions(): TurnOptions {
    const model = this.list.get()?.[0]?.model;
    return model === undefined ? noOptions : { ...noOptions, model };
  }

  async save(conversation: ChatConversation): Promise<void> {
    const entry = toKept(this.owner, conversation);
    const others = (this.list.get() ?? []).filter(({ id }) => id !== entry.id);
    const size = others.reduce((sum, other) => sum + other.size, entry.size);
    try {
      if (others.length >= mostConversations || size > mostCharacters) throw new StorageFullError();
      await keep(entry, conversation);
      this.trouble.set(undefined);
      this.list.set([entry, ...others].sort((one, other) => other.updatedAt - one.updatedAt));
      this.news?.postMessage(entry.id);
    } catch (error) {
      this.fail(error instanceof StorageFullError ? 'full' : 'unavailable');
    }
  }

  async all(): Promise<ChatConversation[]> {
    const read = await Promise.all((this.list.get() ?? []).map(({ id }) => readKept(this.owner, id)));
    return read.filter((conversation) => conversation !== undefined);
  }

  async remove(id: string): Promise<void> {
    const chat = await this.open.get(id);
    chat?.close();
    this.open.delete(id);
    keepDraft(this.owner, id, '');
    await forget(this.owner, id).catch(() => this.fail('unavailable'));
    this.trouble.set(undefined);
    await this.refresh();
    this.news?.postMessage(id);
  }

  /** The id of the conversation that begins with the next message. */
  get freshId(): string {
    return this.fresh;
  }

  /** The fresh conversation has begun. */
  begun(): void {
    this.fresh = newId('chat_');
  }

  /** What is found by its name or by what was said first. */
  search(text: string): readonly KeptConversation[] {
    const wanted = text.trim().toLowerCase();
    const all = this.list.get() ?? [];
    return wanted === '' ? all : all.filter(({ title, words }) => `${title.toLowerCase()}\n${words}`.includes(wanted));
  }

  /** Another tab has kept or removed the conversation. */
  private async join(id: string): Promise<void> {
    const chat = await this.open.get(id);
    const kept = chat && (await readKept(this.owner, id).catch(() => undefined));
    if (kept !== undefined) chat!.join(kept);
  }

  private async refresh(): Promise<void> {
    try {
      this.list.set(await listKept(this.owner));
    } catch {
      this.list.set([]);
      this.fail('unavailable');
    }
  }

  private fail(trouble: 'full' | 'unavailable'): undefined {
    this.trouble.set(trouble);
    return undefined;
  }
}

function toKept(owner: string, conversation: ChatConversation): KeptConversation {
  const said = Object.values(conversation.nodes).flatMap((node) =>
    node.kind === 'asked'
      ? [node.text]
      : node.answer.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
  const words = said.join('\n').slice(0, mostSearched).toLowerCase();
  const { id, updatedAt, options } = conversation;
  const size = JSON.stringify(conversation).length;
  return { owner, id, title: titleOf(conversation), updatedAt, model: options.model, size, words };
}

const byOwner = new Map<string, Chats>();

/** Gateways behind one host have addresses of their own. */
export function chatsOf(principal: string): Chats {
  const owner = `${consolePath}|${principal}`;
  let chats = byOwner.get(owner);
  if (chats === undefined) byOwner.set(owner, (chats = new Chats(owner)));
  return chats;
}
