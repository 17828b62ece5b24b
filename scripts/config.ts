// `signalbox config check`.
import { UsageError } from './cli/usage-error.js';
import { checkConfiguration } from './config-check.js';

const [command = 'check'] = process.argv.slice(2);
if (command === 'check') {
  const { text, status } = checkConfiguration(process.env);
  process.exitCode = status;
  if (status === 0) console.log(text);
  else console.error(text);
} else {
  console.error(new UsageError(`'${command}' is not understood`, 'config').message);
  process.exitCode = 2;
}
