import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { Toolset, Toolsets } from './toolset.js';

const tool = (name: string) => {
  const [server = '', own = ''] = name.split('/');
  return { server, tool: own };
};
const has = (set: Toolset, ...names: string[]) => names.filter((name) => set.has(tool(name)));

verifies('toolsets.members', 'globs in order, with exceptions, and exceptions of those', () => {
  const set = new Toolset(['hub/*', '!hub/delete_*', 'hub/delete_draft', { tool: 'files/读取' }]);
  const names = ['hub/read', 'hub/delete_all', 'hub/delete_draft', 'hub2/read', 'files/读取', 'files/write'];
  expect(has(set, ...names)).toEqual(['hub/read', 'hub/delete_draft', 'files/读取']);
  expect(has(new Toolset(['hub/read', '!*/*']), ...names)).toEqual([]);
  expect(has(new Toolset(['!hub/read']), ...names)).toEqual([]);
  expect(set.added).toEqual(['hub/*', 'hub/delete_draft', 'files/读取']);
});

verifies('toolsets.members', 'its own name stays when a later glob matches too; entries that match nothing', () => {
  const shown = { tool: 'hub/read', name: 'look', description: 'Looks.' };
  const set = new Toolset([shown, 'hub/*', 'gone/*', '!hub/none']);
  expect(set.shownAs(tool('hub/read'))).toEqual({ name: 'look', description: 'Looks.' });
  expect(set.shownAs(tool('hub/write'))).toBeUndefined();
  expect(set.unmatched([tool('hub/read')])).toEqual(['gone/*', '!hub/none']);
});

verifies('toolsets.members', 'replaced as a whole; names that objects have are no sets', () => {
  const sets = new Toolsets({ one: ['hub/*'], two: ['*/read'] });
  const read = tool('hub/read');
  expect(sets.namesOf(read)).toEqual(['one', 'two']);
  expect([sets.get('constructor'), sets.get('__proto__')]).toEqual([undefined, undefined]);
  sets.replace({ two: ['hub/*'] });
  expect(sets.namesOf(read)).toEqual(['two']);
  expect(() => sets.replace({ bad: ['hub'] })).toThrow('server/tool');
  expect(sets.namesOf(read)).toEqual(['two']);
});
