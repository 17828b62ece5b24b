import { expect } from 'vitest';
import type { RunDetails } from '../../clients/typescript/src/index.js';
import { post, rounds, workspaceTools } from '../support/scripts.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

verifies('runs.traces', 'the trace of the request, and where it can be looked at', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const box = await startSignalboxHere({
    script: rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'Now.' }),
    environment: { TELEMETRY_TRACE_URL: 'https://traces.example/trace/{trace_id}' },
  });
  try {
    const body = { messages: [{ role: 'user', content: 'What time is it?' }], tools: [workspaceTools] };
    await post(box.url, '/api/chat/completions', body, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    const listed = (await (await fetch(`${box.url}/api/runs`)).json()) as { data: { id: string }[] };
    const run = (await (await fetch(`${box.url}/api/runs/${listed.data[0]!.id}?include=calls`)).json()) as RunDetails;
    expect(run.call_list).toMatchObject([{ trace_id: traceId, trace_url: `https://traces.example/trace/${traceId}` }]);
  } finally {
    await box.close();
  }
});
