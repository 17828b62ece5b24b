// `npm run policy -- explain …` and `npm run policy -- simulate …`: what the policy says of one call, and what another
// policy would have said of past ones. Exit codes: 0 told, 1 the database does not answer, 2 wrong usage or configuration.
import { ConfigError } from '#libs/config/config-error.js';
import { explainCall } from './policy/explain-call.js';
import { simulateDraft } from './policy/simulate-draft.js';
import { UsageError } from './policy/usage-error.js';

const usage = `Usage:
  npm run policy -- explain --tool SERVER/TOOL [--args JSON] [--user NAME] [--role ROLE]… [--key ID] [--json]
  npm run policy -- simulate --file DRAFT.yaml [--since 7d] [--json]`;

const [command, ...options] = process.argv.slice(2);
try {
  if (command === 'explain') console.log(await explainCall(options));
  else if (command === 'simulate') await simulateDraft(options, (line) => console.log(line));
  else throw new UsageError(command === undefined ? 'No command' : `Unknown command '${command}'`);
} catch (error) {
  const usedWrongly = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
  console.error(usedWrongly === true ? `${(error as Error).message}\n${usage}` : (error as Error).message);
  process.exitCode = usedWrongly === true || error instanceof ConfigError ? 2 : 1;
}
