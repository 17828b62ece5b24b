// Conversations as files: JSON, to be imported elsewhere, and the shown path as markdown, to be read.
import { isOffer } from '../../../widgets/offers.js';
import { type ChatConversation, type ChatNode, newId, shownPath, titleOf } from '../conversation/conversation.js';

interface ExportedConversations {
  format: 'signalbox.conversations';
  version: 1;
  conversations: ChatConversation[];
}

export function toJsonFile(conversations: ChatConversation[]): string {
  const exported: ExportedConversations = { format: 'signalbox.conversations', version: 1, conversations };
  return JSON.stringify(exported, null, 2);
}

/** The conversations of a file, under new ids: an import replaces nothing. @throws for any other file */
export function readJsonFile(text: string): ChatConversation[] {
  const file = JSON.parse(text) as Partial<ExportedConversations>;
  if (file.format !== 'signalbox.conversations' || file.version !== 1) throw new Error('Not such a file');
  return (file.conversations ?? []).map(checked).map((conversation) => ({ ...conversation, id: newId('chat_') }));
}

function checked(conversation: ChatConversation): ChatConversation {
  const { nodes, options, chosen } = conversation;
  const isWhole =
    Object.entries(nodes).every(([id, node]) => node.id === id && isNode(node) && isAcyclic(nodes, node)) &&
    typeof options.system === 'string' &&
    typeof options.tools === 'object' &&
    Array.isArray(options.asks) &&
    Array.isArray(options.functions) &&
    typeof chosen === 'object';
  if (!isWhole) throw new Error('Not a conversation');
  // What ran when it was exported does not run here.
  const settled = Object.values(nodes).map((node) =>
    node.kind === 'turn' && (node.state === 'running' || node.state === 'cut')
      ? { ...node, state: 'stopped' as const }
      : node,
  );
  return { ...conversation, nodes: Object.fromEntries(settled.map((node) => [node.id, node])) };
}

function isNode(node: ChatNode): boolean {
  if (typeof node.at !== 'number') return false;
  if (node.kind === 'asked') {
    const { text, files, offers = [] } = node;
    return typeof text === 'string' && Array.isArray(files) && Array.isArray(offers) && offers.every(isOffer);
  }
  return node.kind === 'turn' && Array.isArray(node.answer.parts) && Array.isArray(node.options.functions);
}

function isAcyclic(nodes: ChatConversation['nodes'], start: ChatNode): boolean {
  let steps = Object.keys(nodes).length;
  for (let node: ChatNode | undefined = start; node !== undefined; steps -= 1) {
    if (steps < 0) return false;
    if (node.parent === undefined) return true;
    node = nodes[node.parent];
  }
  return false;
}

export function toMarkdownFile(conversation: ChatConversation, names: { you: string; assistant: string }): string {
  const said = shownPath(conversation).map((node) =>
    node.kind === 'asked' ? `## ${names.you}\n\n${node.text}` : `## ${names.assistant}\n\n${partsOf(node)}`,
  );
  return [`# ${titleOf(conversation)}`, ...said].join('\n\n') + '\n';
}

const partsOf = ({ answer }: Extract<ChatNode, { kind: 'turn' }>): string =>
  answer.parts
    .map((part) => {
      if (part.type === 'text') return part.text.trim();
      if (part.type === 'reasoning') return `> ${part.text.trim().replaceAll('\n', '\n> ')}`;
      const result = part.given ?? part.result?.content ?? '';
      return `\`${part.name}\`\n\n${fenced(part.arguments)}\n\n${fenced(result)}`;
    })
    .join('\n\n');

/** A fence that is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
