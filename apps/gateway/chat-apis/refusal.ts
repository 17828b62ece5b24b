// What a model says in place of an answer: OpenAI's `refusal`, beside the text. APIs whose standard has it return it as such.
import type { AnswerExtras } from '#libs/schemas/model-event.js';

/** The piece of it in one content event; '' where there is none. */
export function refusalOf({ extras }: { extras?: AnswerExtras }): string {
  const refusal = extras?.delta?.['refusal'];
  return typeof refusal === 'string' ? refusal : '';
}
