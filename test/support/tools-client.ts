// Requests to the tools API and the metrics.

export interface ToolAnswer {
  status: number;
  body: {
    content?: string;
    id?: string;
    structured_content?: Record<string, unknown>;
    error?: { code: string; message: string };
  };
}

export interface ToolCall {
  name: string;
  arguments?: object;
  session_id: string;
}

export async function callTool(url: string, call: ToolCall): Promise<ToolAnswer> {
  const answer = await fetch(`${url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: {}, ...call }),
  });
  return { status: answer.status, body: (await answer.json()) as ToolAnswer['body'] };
}

/** By the name under which each is offered. */
export async function offeredTools(url: string): Promise<Map<string, { server: string; available: boolean }>> {
  const { data } = (await (await fetch(`${url}/api/tools`)).json()) as {
    data: { function: { name: string }; server: string; available: boolean }[];
  };
  return new Map(data.map(({ function: { name }, server, available }) => [name, { server, available }]));
}

/** @param series including its labels, as exported; NaN if it does not exist. */
export async function metricOf(url: string, series: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? NaN);
}
