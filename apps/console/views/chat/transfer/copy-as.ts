// The request of a turn as a program. The key is a placeholder: none is ever in it.
import type { ChatRequest } from '@signalbox/client';

export const copyLanguages = ['curl', 'TypeScript', 'Python'] as const;
export type CopyLanguage = (typeof copyLanguages)[number];

export function copyAs(language: CopyLanguage, request: ChatRequest, gateway: string): string {
  return writers[language](request, gateway);
}

const writers: Record<CopyLanguage, (request: ChatRequest, gateway: string) => string> = {
  curl(request, gateway) {
    const body = JSON.stringify({ ...request, stream: true }, null, 2);
    return [
      `curl -N ${quoted(`${gateway}/api/chat/completions`)}`,
      `  -H 'authorization: Bearer YOUR_API_KEY'`,
      `  -H 'content-type: application/json'`,
      `  -d ${quoted(body)}`,
    ].join(' \\\n');
  },
  TypeScript: (request, gateway) => `import { Signalbox } from '@signalbox/client';

const signalbox = new Signalbox({ baseUrl: ${JSON.stringify(gateway)}, apiKey: 'YOUR_API_KEY' });
const stream = signalbox.stream(${JSON.stringify(request, null, 2)});
for await (const event of stream) {
  if (event.type === 'content') process.stdout.write(event.delta.content);
  if (event.type === 'tool_result') console.log(event.result);
}
`,
  Python(request, gateway) {
    const { model = 'default', messages, tools, ...others } = request;
    const lines = [
      `    model=${python(model)},`,
      `    messages=${python(messages)},`,
      ...(tools === undefined ? [] : [`    tools=${python(tools)},`]),
      ...(Object.keys(others).length === 0 ? [] : [`    extra_body=${python(others)},`]),
      '    stream=True,',
    ];
    return `from openai import OpenAI

client = OpenAI(base_url=${python(`${gateway}/api`)}, api_key="YOUR_API_KEY")
stream = client.chat.completions.create(
${lines.join('\n')}
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)
`;
  },
};

/** For a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A value as Python writes it: the escapes of JSON mean the same there. */
function python(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value === 'object') {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${python(member)}`).join(', ')}}`;
  }
  return JSON.stringify(value);
}
