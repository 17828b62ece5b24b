// A call of a tool as a command for a shell.
import type { ToolCallBody } from '@signalbox/client';
import { gatewayUrl } from '../../../api/addresses.js';
import { credential } from '../../../api/credentials.js';

/** The key itself is not in it: a variable of the shell stands for it. */
export function asCurl(call: ToolCallBody): string {
  const key = credential.get() === undefined ? '' : ` -H "authorization: Bearer $SIGNALBOX_KEY"`;
  return `curl ${gatewayUrl}/api/tools/call -H 'content-type: application/json'${key} -d ${quoted(JSON.stringify(call))}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
