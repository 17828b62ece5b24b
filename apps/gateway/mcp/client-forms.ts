// The forms in which MCP clients are asked for what their calls wait for, one for each kind of answer, and how they are read. A client
// whose user has to sign in gets an address instead.
import { z } from 'zod';
import { redact } from '#libs/audit/redact.js';
import { maxReasonLength, type Wait, type WaitDecision, whyAsked } from '#libs/waits/wait.js';
import { waitKinds } from '#libs/waits/wait-kinds.js';
import type { ClientAnswer, ClientQuestion } from './ask-client.js';

export interface ClientForm {
  question: ClientQuestion;
  /**
   * Undefined if the client made no decision that the form allows, or could not be asked. `elsewhere`: its user has agreed to open the
   * address, and ends the wait there.
   */
  read: (answer: ClientAnswer | undefined) => WaitDecision | 'elsewhere' | undefined;
}

export function formOf(wait: Wait): ClientForm {
  switch (waitKinds[wait.kind].answer) {
    case 'content':
      return contentForm(wait);
    case 'connection':
      return signInForm(wait);
    default:
      return decisionForm(wait);
  }
}

const signInForm = ({ id, name, server, authorizationUrl: url = '' }: Wait): ClientForm => ({
  question: { id, message: `Sign in at '${server}', which the call of '${name}' needs`, url },
  read: (answer) => {
    if (answer === undefined || answer.action === 'cancel') return undefined;
    return answer.action === 'accept' ? 'elsewhere' : { decision: 'deny' };
  },
});

type FormSchema = Extract<ClientQuestion, { schema: unknown }>['schema'];

/** The tool server's own form. A client that does not answer has declined, because the tool waits. */
const contentForm = ({ id, message, schema }: Wait): ClientForm => ({
  question: { id, message: message ?? '', schema: schema as unknown as FormSchema },
  read: (answer) =>
    answer?.action === 'accept' ? { decision: 'approve', arguments: answer.content } : { decision: 'deny' },
});

/** How many characters of the arguments the question shows to a person. */
const maxShownLength = 2_000;

const decisionSchema = z.object({
  decision: z.enum(['approve', 'deny']),
  reason: z.string().nullish(),
});

function decisionForm({ id, name, arguments: args, ...asked }: Wait): ClientForm {
  const text = JSON.stringify(redact(args));
  const shown =
    text.length <= maxShownLength
      ? text
      : `${clip(text)}… (${text.length} characters; full text: GET /api/approvals/${id})`;
  const message = [`Allow the call of '${name}'?`, whyAsked(asked) ?? [], `Arguments: ${shown}`].flat().join('\n');
  const properties = {
    decision: { type: 'string' as const, title: 'Decision', enum: ['approve', 'deny'] },
    reason: { type: 'string' as const, title: 'Reason', maxLength: maxReasonLength },
  };
  return {
    question: { id, message, schema: { type: 'object', properties, required: ['decision'] } },
    read: readDecision,
  };
}

/** Never cuts a surrogate pair. */
const clip = (text: string) => text.slice(0, maxShownLength).replace(/[\ud800-\udbff]$/, '');

function readDecision(answer: ClientAnswer | undefined): WaitDecision | undefined {
  if (answer === undefined || answer.action === 'cancel') return undefined;
  if (answer.action === 'decline') return { decision: 'deny' };
  const read = decisionSchema.safeParse(answer.content);
  if (!read.success) return undefined;
  const { decision, reason } = read.data;
  return { decision, ...(reason == null || reason === '' ? {} : { reason: reason.slice(0, maxReasonLength) }) };
}
