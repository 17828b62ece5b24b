// A provider that is down: what callers get, and what an operator sees.
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { post } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let url: string;

beforeAll(async () => {
  box = await startSignalboxHere({ script: () => ({ text: 'hi' }), gateways: 0, workers: 0 });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, max_retries: 0 };
  const down = { ...provider, base_url: 'http://127.0.0.1:9/v1', circuit: { failures: 2 } };
  ({ url } = await box.startGateway({
    MODELS_PROVIDERS: JSON.stringify({ down, up: provider }),
    MODELS_ALIASES: JSON.stringify({ best: ['down/m', 'up/m'] }),
  }));
});
afterAll(() => box?.close());

const ask = (model: string, more: object = {}) =>
  post(url, '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }], ...more });

verifies(
  'models.circuit',
  'over HTTP: 502, then 503 with Retry-After at once; the next candidate answers',
  async () => {
    expect((await ask('best')).body.choices[0]!.message.content).toBe('hi');
    expect(await ask('down/m')).toMatchObject({ status: 502, body: { error: { code: 'model_error' } } });
    for (const stream of [true, false]) {
      const { status, headers, body } = await ask('down/m', { stream });
      expect(status).toBe(503);
      expect(body.error).toMatchObject({ type: 'overloaded_error', code: 'model_unavailable' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await ask('best')).body.choices[0]!.message.content).toBe('hi');
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('signalbox_model_circuit{provider="down",state="open"} 1');
    expect(metrics).toContain('signalbox_model_circuit{provider="up",state="closed"} 1');
    expect(metrics).toContain('signalbox_errors_total{type="overloaded_error",code="model_unavailable"} 2');
  },
);
