// What keys may call and did not: the tools that a key and the policy allow, without those that were called. By the sums of usage, which
// are few where the audit has a row for each call.
import { allowsTool } from '#libs/access/access.js';
import type { StoredKey } from '#libs/access/key-store.js';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { printRule } from '#libs/config/printing/print-policy.js';
import type { PolicyRule } from '#libs/config/schemas/policy-schema.js';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import type { ToolPolicy } from '../../govern/tool-policy.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { unusedRights } from '../openapi/policy-shapes.js';

type Row = Shown<typeof unusedRights>['data'][number];
type Holder = Pick<StoredKey, 'id' | 'owner' | 'roles'> & { key?: StoredKey };

/** Names of tools in one list of an answer. */
const maxNamed = 500;

/** Callers while no keys are in use. */
export const keylessHolder: Holder = { id: '', owner: keylessPrincipal, roles: [] };

export async function unusedOf(
  holders: readonly Holder[],
  usedTools: ReadonlyMap<string, ReadonlySet<string>>,
  { policy, tools }: ToolPolicy['inForce'],
): Promise<Row[]> {
  const slices = new WorkSlices();
  const rows: Row[] = [];
  for (const holder of holders) {
    const { id, owner, roles, key } = holder;
    const caller = { principal: owner, roles, ...(id === '' ? {} : { keyId: id }) };
    const allowed: string[] = [];
    for (const tool of tools) {
      if (allowsTool(key, tool) && !policy.isDenied(tool, caller)) allowed.push(`${tool.server}/${tool.tool}`);
      await slices.next();
    }
    const called = usedTools.get(id) ?? new Set();
    const used = allowed.filter((name) => called.has(name));
    const unused = allowed.filter((name) => !called.has(name));
    rows.push({
      key_id: key?.id ?? null,
      prefix: key?.prefix ?? null,
      name: key?.name ?? null,
      owner,
      created_at: key?.createdAt.toISOString() ?? null,
      allowed: allowed.length,
      used: used.slice(0, maxNamed),
      unused: unused.slice(0, maxNamed),
      unused_count: unused.length,
      rule: unused.length === 0 || unused.length > maxNamed ? null : printRule(denying(unused, key)),
      tools: key === undefined || unused.length === 0 || used.length > maxNamed ? null : { allow: used },
    });
  }
  return rows;
}

function denying(tools: readonly string[], key: StoredKey | undefined): PolicyRule {
  const who = key === undefined ? { user: keylessPrincipal } : { key: key.id };
  const name = `unused-${(key?.id ?? keylessPrincipal).replace(/[^A-Za-z0-9._-]/g, '-')}`.slice(0, 64);
  return { name, ...who, tool: [...tools], effect: 'deny', reason: 'Not used' };
}
