// `signalbox config check`. Exit codes: 0 the configuration is fine, 1 something is wrong with it, 2 wrong usage.
import { UsageError } from './cli/usage-error.js';
import { checkConfiguration } from './config/check-configuration.js';

const [command = 'check', ...more] = process.argv.slice(2);
if (command === 'check' && more.length === 0) {
  const { text, status } = await checkConfiguration();
  process.exitCode = status;
  if (status === 0) console.log(text);
  else console.error(text);
} else {
  console.error(new UsageError(`'${command}' is not a command`, 'config').message);
  process.exitCode = 2;
}
