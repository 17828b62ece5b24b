// Reads a policy that is only tried out: the text of a policy file, from a caller. Variables in it are not expanded.
import { z } from 'zod';
import { ConfigError } from './config-error.js';
import { parseFile } from './files/parse-file.js';
import { problemsOf } from './problems-of.js';
import { policySchema } from './schemas/policy-schema.js';

const draftSchema = z.object({ policy: policySchema.omit({ file: true }) });

/** @throws ConfigError listing everything that is wrong, with lines */
export function readPolicyDraft(text: string): z.output<typeof policySchema> {
  const file = parseFile({ path: 'draft', text });
  if (file.problems.length > 0) throw new ConfigError(file.problems);
  const tree = { policy: file.tree };
  const parsed = draftSchema.safeParse(tree);
  if (!parsed.success) throw new ConfigError(problemsOf(parsed.error, tree, (path) => file.origin(path.slice(1))));
  return parsed.data.policy;
}
