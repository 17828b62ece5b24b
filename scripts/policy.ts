// `signalbox policy explain …` and `signalbox policy simulate …`: what the policy says of one call, and what another
// policy would have said of past ones. Exit codes: 0 done, 1 the database does not answer, 2 wrong usage or configuration.
import { ConfigError } from '#libs/config/config-error.js';
import { UsageError } from './cli/usage-error.js';
import { explainCall } from './policy/explain-call.js';
import { simulateDraft } from './policy/simulate-draft.js';

const [command, ...options] = process.argv.slice(2);
try {
  if (command === 'explain') console.log(await explainCall(options));
  else if (command === 'simulate') await simulateDraft(options, (line) => console.log(line));
  else throw new UsageError(command === undefined ? 'No command was given' : `'${command}' is not a command`, 'policy');
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}
