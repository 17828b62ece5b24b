// Starts Chimech: over HTTP, or with `--stdio` over standard input and output.
import { parseArgs } from 'node:util';
import { keepV8Small } from '#libs/process/tune-v8.js';

const { values } = parseArgs({ options: { stdio: { type: 'boolean', default: false } } });
// Before anything else is loaded: that is most of what this process holds.
keepV8Small();
if (values.stdio) {
  const { serveStdio } = await import('./serve-stdio.js');
  await serveStdio();
} else {
  const { loadConfig } = await import('#libs/config/load-config.js');
  const { runProcess } = await import('#libs/process/run-process.js');
  const { startChimech } = await import('./start-chimech.js');
  await runProcess('chimech', loadConfig, startChimech);
}
