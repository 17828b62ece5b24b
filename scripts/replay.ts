// `signalbox replay RUN_ID`: a stored turn again, against the tool results that were recorded, side by side with what
// happened then. Nothing runs and nothing is stored. Exit codes: 0 replayed, 1 failed, 2 wrong usage or configuration.
import { ConfigError } from '#libs/config/config-error.js';
import { loadConfig } from '#libs/config/load-config.js';
import { AppError } from '#libs/schemas/errors.js';
import { readArguments, UsageError } from './cli/usage-error.js';
import { withStore } from './with-store.js';
import { type Replay, replayRun, type ShownRound } from './replay/replay-run.js';

try {
  const { values, positionals } = readOptions();
  const config = loadConfig();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new AppError('cancelled', 'Stopped')));
  const replay = await withStore(config, { applicationName: 'replay', timeoutMs: 30_000 }, (database) =>
    replayRun(positionals[0]!, config, { database, model: values.model, signal: stop.signal }),
  );
  console.log(values.json === true ? JSON.stringify(replay) : linesOf(replay).join('\n'));
} catch (error) {
  const usedWrongly = error instanceof UsageError || error instanceof ConfigError;
  if (!usedWrongly && !(error instanceof AppError)) throw error;
  console.error(error.message);
  process.exitCode = usedWrongly ? 2 : 1;
}

function readOptions() {
  const read = readArguments('replay', {
    allowPositionals: true,
    options: { model: { type: 'string' }, json: { type: 'boolean' } },
  });
  const { length } = read.positionals;
  if (length === 1) return read;
  throw new UsageError(length === 0 ? 'The id of the run is missing' : 'More than one run id was given', 'replay');
}

function linesOf({ run, recorded, replayed, same_calls }: Replay): string[] {
  const rounds = Math.max(recorded.length, replayed.length);
  const lines = Array.from({ length: rounds }, (_, at) => [
    `── round ${at + 1}`,
    ...roundLines('recorded', recorded[at]),
    ...roundLines('replayed', replayed[at]),
  ]);
  return [run, ...lines.flat(), same_calls ? 'The same calls, in the same order.' : 'The calls differ.'];
}

function roundLines(which: string, round: ShownRound | undefined): string[] {
  if (round === undefined) return [`${which}  (no such round)`];
  const { model, text, calls, finish_reason, tokens } = round;
  return [
    `${which}  ${model}, ${finish_reason}, ${tokens} tokens`,
    ...calls.map((call) => `  → ${call.name} ${call.arguments}: ${call.state}${noteOf(call.result)}`),
    ...(text === '' ? [] : text.split('\n').map((line) => `  ${line}`)),
  ];
}

function noteOf(result: string | undefined): string {
  if (result === 'other_arguments') return ' (the result was recorded with other arguments)';
  return result === 'none' ? ' (no recorded result)' : '';
}
