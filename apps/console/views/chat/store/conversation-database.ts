// The conversations that this browser keeps, in its IndexedDB. Each belongs to one principal of one gateway, and no other one sees it.
import type { ChatConversation } from '../conversation/conversation.js';

export interface KeptConversation {
  owner: string;
  id: string;
  title: string;
  updatedAt: number;
  model?: string;
  /** Characters as JSON. */
  size: number;
  /** What the search looks at. */
  words: string;
}

const name = 'signalbox.chat';
const lists = 'kept';
const bodies = 'conversations';

/** There is no room. */
export class StorageFullError extends Error {}

let opening: Promise<IDBDatabase> | undefined;

function openDatabase(): Promise<IDBDatabase> {
  opening ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.addEventListener('upgradeneeded', () => {
      request.result.createObjectStore(lists, { keyPath: ['owner', 'id'] });
      request.result.createObjectStore(bodies, { keyPath: ['owner', 'id'] });
    });
    request.addEventListener('success', () => {
      const { result } = request;
      // Another tab may bring a newer version of the page.
      result.addEventListener('versionchange', () => result.close());
      result.addEventListener('close', () => (opening = undefined));
      resolve(result);
    });
    request.addEventListener('error', () => reject(request.error ?? new Error('No storage')));
    request.addEventListener('blocked', () => reject(new Error('Another tab holds an older version of the storage')));
  });
  opening.catch(() => (opening = undefined));
  return opening;
}

const allOf = (owner: string) => IDBKeyRange.bound([owner], [owner, []]);

async function withStores<Result>(
  mode: IDBTransactionMode,
  use: (list: IDBObjectStore, body: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await openDatabase();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([lists, bodies], mode);
    const request = use(transaction.objectStore(lists), transaction.objectStore(bodies));
    const fail = () => reject(explain(transaction.error ?? request.error));
    transaction.addEventListener('complete', () => resolve(request.result));
    transaction.addEventListener('abort', fail);
    transaction.addEventListener('error', fail);
  });
}

function explain(error: DOMException | null): Error {
  if (error?.name === 'QuotaExceededError') return new StorageFullError(error.message);
  return error ?? new Error('The storage of the browser failed');
}

/** Newest first. */
export async function listKept(owner: string): Promise<KeptConversation[]> {
  const kept = await withStores<KeptConversation[]>('readonly', (list) => list.getAll(allOf(owner)));
  return kept.sort((one, other) => other.updatedAt - one.updatedAt);
}

export async function readKept(owner: string, id: string): Promise<ChatConversation | undefined> {
  const row = await withStores<{ conversation: ChatConversation } | undefined>('readonly', (_list, body) =>
    body.get([owner, id]),
  );
  return row?.conversation;
}

/** @throws StorageFullError */
export async function keep(entry: KeptConversation, conversation: ChatConversation): Promise<void> {
  await withStores('readwrite', (list, body) => {
    list.put(entry);
    return body.put({ owner: entry.owner, id: entry.id, conversation });
  });
}

export async function forget(owner: string, id: string): Promise<void> {
  await withStores('readwrite', (list, body) => {
    list.delete([owner, id]);
    return body.delete([owner, id]);
  });
}
