// A tool server with more tools than a request should list, and what a model that looks for one of them says.
import { type CountingServer, startCountingServer } from './counting-server.js';
import type { PlannedRound } from './strict-upstream.js';

const fillers = Array.from({ length: 60 }, (_none, at): [string, string] => [
  `filler_${at}`,
  `Turns the handle number ${at} of the machine`,
]);

export const manyTools = { type: 'mcp', server_label: 'many' };

export const startManyTools = (): Promise<CountingServer> =>
  startCountingServer({
    ...Object.fromEntries(fillers),
    list_invoices: 'Lists the unpaid invoices of a customer',
    refund_invoice: 'Pays an invoice back to the customer',
    burn_invoices: 'Destroys all invoices',
  });

export const manyRules = [
  { name: 'refunds', tool: 'many/refund_invoice', effect: 'require_approval', reason: 'Money goes out' },
  { name: 'nobody', tool: 'many/burn_invoices', effect: 'deny' },
];

export const looking = { name: 'find_tools', arguments: { query: 'unpaid invoices', limit: 1 } };
export const listing = { name: 'list_invoices', arguments: { amount: 7 } };

export const lookingPlan: PlannedRound[] = [
  { text: 'Looking.', calls: [looking] },
  { thought: 'That one.', calls: [listing] },
  { text: 'All paid.' },
];
