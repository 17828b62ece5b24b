// A conversation of this browser: a tree of messages and turns, of which one path is shown. Editing a message or asking again adds a
// branch; nothing that was said is replaced.
import type { FunctionTool, OfferPart } from '@signalbox/client';
import type { Answer } from './answer.js';

/** What a turn is asked with, beside the messages. */
export interface TurnOptions {
  /** Absent: the gateway's default. */
  model?: string;
  system: string;
  /** By server: the tools that are offered. A server without an entry offers none. */
  tools: Record<string, string[]>;
  /** `server/tool`: these ask for an approval, whatever the policy says. */
  asks: string[];
  /** Functions that the person of the page answers. */
  functions: FunctionTool[];
}

export interface AskedNode {
  kind: 'asked';
  id: string;
  /** Absent: the first message. */
  parent?: string;
  text: string;
  /** Paths in the session that were added with the message. */
  files: string[];
  /** Resources and prompts that the message names. */
  offers?: OfferPart[];
  at: number;
}

export interface ShownError {
  code?: string;
  message: string;
  requestId?: string;
  /** The same turn may go on, without repeating what has run. */
  mayContinue: boolean;
}

export interface TurnNode {
  kind: 'turn';
  id: string;
  parent: string;
  at: number;
  endedAt?: number;
  /** `cut`: its stream broke off, and it goes on when the gateway answers again. */
  state: 'running' | 'cut' | 'done' | 'stopped' | 'failed';
  answer: Answer;
  options: TurnOptions;
  /** The `Idempotency-Key`: the way back to the turn. */
  key: string;
  error?: ShownError;
}

export type ChatNode = AskedNode | TurnNode;

export interface ChatConversation {
  /** The session's id, too. */
  id: string;
  /** Given by a person. */
  name?: string;
  createdAt: number;
  updatedAt: number;
  options: TurnOptions;
  nodes: Record<string, ChatNode>;
  /** Which child of a node is shown, by the node's id; the first messages are children of `''`. */
  chosen: Record<string, string>;
}

export const noOptions: TurnOptions = { system: '', tools: {}, asks: [], functions: [] };

export function newConversation(id: string, options: TurnOptions = noOptions): ChatConversation {
  const now = Date.now();
  return { id, createdAt: now, updatedAt: now, options, nodes: {}, chosen: {} };
}

export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const childLists = new WeakMap<ChatConversation['nodes'], Map<string, ChatNode[]>>();

/** In the order in which they were added. */
export function childrenOf({ nodes }: ChatConversation, parent = ''): readonly ChatNode[] {
  let lists = childLists.get(nodes);
  if (lists === undefined) {
    lists = new Map();
    for (const node of Object.values(nodes)) {
      const list = lists.get(node.parent ?? '');
      if (list === undefined) lists.set(node.parent ?? '', [node]);
      else list.push(node);
    }
    childLists.set(nodes, lists);
  }
  return lists.get(parent) ?? [];
}

/** What is shown: from the first message to the last. */
export function shownPath(conversation: ChatConversation): ChatNode[] {
  const path: ChatNode[] = [];
  for (let parent = ''; ;) {
    const children = childrenOf(conversation, parent);
    const next = children.find(({ id }) => id === conversation.chosen[parent]) ?? children.at(-1);
    if (next === undefined) return path;
    path.push(next);
    parent = next.id;
  }
}

/** From the first message to this node, with it. */
export function pathTo({ nodes }: ChatConversation, id: string): ChatNode[] {
  const path: ChatNode[] = [];
  for (let node = nodes[id]; node !== undefined; node = node.parent === undefined ? undefined : nodes[node.parent])
    path.unshift(node);
  return path;
}

/** Adds a node, or replaces it, and shows it. */
export function withNode(conversation: ChatConversation, node: ChatNode): ChatConversation {
  const { nodes, chosen } = conversation;
  const isNew = nodes[node.id] === undefined;
  return {
    ...conversation,
    updatedAt: Date.now(),
    nodes: { ...nodes, [node.id]: node },
    ...(isNew && { chosen: { ...chosen, [node.parent ?? '']: node.id } }),
  };
}

/** Shows another branch. */
export function choosing(conversation: ChatConversation, { parent = '', id }: ChatNode): ChatConversation {
  return { ...conversation, chosen: { ...conversation.chosen, [parent]: id } };
}

/** With what another tab has added meanwhile, once no turn runs there. The same object if that is nothing. */
export function joining(own: ChatConversation, other: ChatConversation): ChatConversation {
  const added = Object.entries(other.nodes).filter(([id]) => own.nodes[id] === undefined);
  if (added.length === 0 || runningTurn(other) !== undefined) return own;
  return {
    ...own,
    updatedAt: Math.max(own.updatedAt, other.updatedAt),
    nodes: { ...own.nodes, ...Object.fromEntries(added) },
  };
}

const longestTitle = 80;

/** Its name, else the beginning of its first message; empty for a new one. */
export function titleOf({ name, nodes }: Pick<ChatConversation, 'name' | 'nodes'>): string {
  if (name !== undefined && name !== '') return name;
  const first = Object.values(nodes).find((node) => node.kind === 'asked');
  return first === undefined ? '' : first.text.slice(0, longestTitle).replace(/\s+/g, ' ').trim();
}

export const runningTurn = ({ nodes }: ChatConversation): TurnNode | undefined =>
  Object.values(nodes).find(
    (node): node is TurnNode => node.kind === 'turn' && (node.state === 'running' || node.state === 'cut'),
  );

/** Only turns that offer tools of servers are stored as runs: they can be joined again, and opened. */
export const isRun = ({ options }: TurnNode): boolean => Object.values(options.tools).some((names) => names.length > 0);
