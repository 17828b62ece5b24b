// Reads OpenAI's `refusal`, which some models send instead of an answer.
import { textOrEmpty } from '#libs/schemas/json.js';
import type { AnswerExtras } from '#libs/schemas/model-event.js';

/** The part of a refusal in a content event, or ''. */
export const refusalOf = ({ extras }: { extras?: AnswerExtras }): string => textOrEmpty(extras?.delta?.['refusal']);
