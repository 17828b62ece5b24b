import { describe, expect, test } from 'vitest';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { verifies } from '../../test/verifies.js';
import { NestLog } from './nest-log.js';
import { logFailure } from './log-failure.js';
import { hideHostPaths } from './describe-error.js';
import { openLogger, type LoggerOptions } from './open-logger.js';

interface Line {
  [field: string]: unknown;
  message: string;
  metadata?: Record<string, unknown> & { error?: Record<string, unknown> };
}

async function recorded(options: Partial<LoggerOptions> = {}) {
  const output: string[] = [];
  const logger = await openLogger({
    service: 'gateway',
    level: 'info',
    destination: { write: (line: string) => void output.push(line) },
    ...options,
  });
  return { logger, output, lines: () => output.map((line) => JSON.parse(line) as Line) };
}

describe('a line', () => {
  verifies('operations.log-line', 'exactly the fields of the specification', async () => {
    const { logger, lines, output } = await recorded();
    const fields = { tool: 't', requestId: 'req_1', runId: 'run_1', sessionId: 's', userId: 'local', traceId: 'tr' };
    logger.child({ metadata: { a: 1 } }).info({ ...fields, duration: 1.23456, metadata: { b: 2 } }, 'done');
    logger.debug({}, 'not shown');
    const [line] = lines();
    expect(line).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      level: 'info',
      message: 'done',
      service: 'gateway',
      ...fields,
      duration: 1.235,
      metadata: { a: 1, b: 2 },
    });
    expect(output).toHaveLength(1);
    expect(output[0]!.endsWith('}\n')).toBe(true);
  });

  test('the message of an error names no path of the host where it is part of the line', () => {
    expect(hideHostPaths("tool_failed: open '/opt/x/y.js', /mcp_workspaces/s/a, http://h/a/b")).toBe(
      "tool_failed: open '<path>', /mcp_workspaces/s/a, http://h/a/b",
    );
  });

  verifies('operations.log-line', 'an error is its code and message; stack and host paths only at debug', async () => {
    const cause = Object.assign(new Error("ENOENT: no such file, open '/root/signalbox/.data/x'"), { code: 'ENOENT' });
    const failure = new AppError('store_unavailable', 'The store is away', { cause });
    const info = await recorded();
    info.logger.error({ error: failure }, 'failed');
    info.logger.error({ error: toAppError(new TypeError('x of /home/u/app/a.js')) }, 'failed');
    expect(info.lines()[0]!.metadata!.error).toEqual({
      code: 'store_unavailable',
      message: 'The store is away',
      cause: { code: 'ENOENT', message: "ENOENT: no such file, open '<path>'" },
    });
    expect(info.output.join()).not.toMatch(/\/root\/|\/home\/|open-logger/);
    const debug = await recorded({ level: 'debug' });
    debug.logger.error({ error: failure }, 'failed');
    expect(debug.output.join()).toContain('/root/signalbox');
    expect(debug.lines()[0]!.metadata!.error!['stack']).toBeInstanceOf(Array);
  });

  verifies(
    'operations.log-forgery',
    'newlines, control characters and terminal codes are shown, not obeyed',
    async () => {
      const evil = 'a\n{"level":"error","message":"forged"}\r\u001b[2Jb\u009bc\u2028d\u202ee';
      for (const pretty of [false, true]) {
        const { logger, output } = await recorded({ pretty });
        logger.info({ sessionId: evil, tool: evil, metadata: { [evil]: evil, list: [evil] } }, evil);
        const text = output.join('');
        expect(text.trimEnd().split('\n')).toHaveLength(1);
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
      }
    },
  );

  verifies('operations.log-bounds', 'a huge, deep, circular or hostile value stays a short line', async () => {
    const { logger, output } = await recorded();
    const circle: Record<string, unknown> = { big: 'x'.repeat(10_000_000) };
    circle['self'] = circle;
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 'y'.repeat(500)]));
    const hostile = { get trap() { throw new Error('no'); } }; // prettier-ignore
    logger.info({ sessionId: 's'.repeat(100_000), metadata: { circle, many, hostile, n: 10n } }, 'm'.repeat(100_000));
    logger.info({ metadata: { hostile } }, 'still here');
    for (const line of output) expect(line.length).toBeLessThan(16_384);
    expect(output).toHaveLength(2);
  });
});

describe('secrets', () => {
  const canaries = {
    plain: 'canary-Zx81kq02',
    openai: 'sk-proj-canaryZx81kq02abcdef',
    ours: 'sb_canaryZx81kq02abcdefgh',
    jwt: 'eyJcanaryhbGciOi.eyJzdWIiOiIx.canarysig',
    google: 'AIzacanaryZx81kq02abcdefghijklmnopqrstu',
    aws: 'AKIACANARYZX81KQ02AB',
  };

  verifies('operations.log-secrets', 'struck out by key, pattern and value in every output', async () => {
    for (const options of [
      {},
      { pretty: true },
      { level: 'debug' as const },
      { level: 'debug' as const, pretty: true },
    ]) {
      const { logger, output } = await recorded({ ...options, secrets: [canaries.plain] });
      const all = Object.values(canaries);
      const error = new Error(`401 for ${all.join(' ')}`, { cause: new Error(`postgres://u:${canaries.plain}x@h/d`) });
      const metadata = {
        apiKey: canaries.plain,
        headers: { Authorization: `Bearer ${canaries.plain}`, 'x-api-key': 'canary-other', cookie: ['canary-cookie'] },
        nested: [{ password: 'canary-password', db: 'redis://:canary-redis@h:1' }],
        text: all.join(','),
        query: '?token=canary-query&a=1',
        [canaries.openai]: 1,
      };
      logger.child({ userId: canaries.ours }).error({ error, requestId: canaries.plain, metadata }, all.join(' '));
      new NestLog(logger).error(error, `stack\n${canaries.plain}`, 'Ctx');
      new NestLog(logger).log({ token: canaries.plain, text: canaries.openai });
      expect(output.length).toBeGreaterThan(0);
      expect(output.join('')).not.toMatch(/canary|CANARY/);
    }
  });

  verifies('operations.log-secrets', 'also those that a later reading of the configuration brings', async () => {
    const { logger, output } = await recorded();
    const write = () => logger.child({}).info({ metadata: { said: 'plain-canary-1' } }, 'plain-canary-1');
    write();
    logger.strikeOut(['plain-canary-1']);
    write();
    expect(output.map((line) => line.includes('plain-canary-1'))).toEqual([true, false]);
  });

  test('counts of tokens are no secrets', async () => {
    const { logger, lines } = await recorded();
    logger.info({ metadata: { token: 5, prompt_tokens: 7, usage: { total_tokens: 12 } } }, 'x');
    expect(lines()[0]!.metadata).toEqual({ token: 5, prompt_tokens: 7, usage: { total_tokens: 12 } });
  });

  test('the sentence of a failure stays, also of one whose code names a secret', async () => {
    const { logger, lines } = await recorded();
    logFailure(logger, new AppError('invalid_api_key', 'This needs the bearer token of METRICS_TOKEN'), {
      requestId: 'r',
    });
    expect(lines()[0]).toMatchObject({
      message: 'This needs the bearer token of METRICS_TOKEN',
      requestId: 'r',
      metadata: { code: 'invalid_api_key' },
    });
  });

  test('patterns take linear time', async () => {
    const { logger } = await recorded();
    const started = performance.now();
    for (const piece of ['://a', 'Bearer ', 'eyJaaaaaaaa.', '-----BEGIN PRIVATE KEY-----', 'token=', 'sk-']) {
      logger.info({ metadata: { text: piece.repeat(100_000) } }, piece.repeat(100_000));
    }
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

test("Nest's chatter is debug, its warnings are ours", async () => {
  const { logger, lines } = await recorded();
  const nest = new NestLog(logger);
  nest.log('AppModule dependencies initialized', 'InstanceLoader');
  nest.log('hello', 'Mine');
  nest.warn('careful', 'RouterExplorer');
  expect(lines().map(({ level, message, metadata }) => [level, message, metadata!['context']])).toEqual([
    ['info', 'hello', 'Mine'],
    ['warn', 'careful', 'RouterExplorer'],
  ]);
});
