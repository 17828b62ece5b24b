// The host's side of the protocol between a page and the app that it shows (MCP apps, 2026-01-26): answers what the app asks, and
// gives it the call. The app is not trusted: it can call tools of its own server, as whoever looks at it, and ask to open a link.
// https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
import { type EndedCall, type ShownApp, SignalboxError } from '@signalbox/client';
import { api } from '../../api/api.js';

export type AppTheme = 'light' | 'dark';

export interface AppHostPorts {
  app: ShownApp;
  send: (message: object) => void;
  onHeight: (pixels: number) => void;
  /** Whether the person of the page lets the app open the address. */
  mayOpen: (url: URL) => Promise<boolean>;
  theme: () => AppTheme;
}

const protocolVersion = '2026-01-26';
const maxCallsAtOnce = 4;
const notThere = -32_601;
const invalidParams = -32_602;
const refused = -32_000;

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

interface Asked {
  id?: unknown;
  method?: unknown;
  params?: unknown;
}

type Params = Readonly<Record<string, unknown>>;

export class AppHost {
  private readonly ended = new AbortController();
  private readonly answers: Readonly<Record<string, (params: Params) => unknown>> = {
    ping: () => ({}),
    'ui/initialize': () => this.greeting(),
    'ui/open-link': ({ url }) => this.openLink(url),
    'ui/request-display-mode': () => ({ mode: 'inline' }),
    'tools/call': (params) => this.callTool(params),
  };
  private calls = 0;
  private isReady = false;
  private isAsking = false;
  private onTornDown: (() => void) | undefined;

  constructor(private readonly ports: AppHostPorts) {}

  take(message: unknown): void {
    if (typeof message !== 'object' || message === null) return;
    const { id, method, params } = message as Asked;
    const given = typeof params === 'object' && params !== null ? (params as Params) : {};
    if (typeof method !== 'string') {
      if (id === teardownId) this.onTornDown?.();
    } else if (typeof id === 'string' || typeof id === 'number') void this.answer(id, method, given);
    else this.told(method, given);
  }

  themeChanged(): void {
    if (this.isReady) this.notify('ui/notifications/host-context-changed', { theme: this.ports.theme() });
  }

  /** Lets the app end what it does. Resolves when it has, or when it takes too long. */
  async tearDown(): Promise<void> {
    if (this.isReady) {
      await new Promise<void>((resolve) => {
        this.onTornDown = resolve;
        setTimeout(resolve, 500);
        this.ports.send({ jsonrpc: '2.0', id: teardownId, method: 'ui/resource-teardown', params: {} });
      });
    }
    this.close();
  }

  close(): void {
    this.ended.abort();
  }

  private async answer(id: string | number, method: string, params: Params): Promise<void> {
    const work = Object.hasOwn(this.answers, method) ? this.answers[method] : undefined;
    try {
      if (work === undefined) throw new Refusal(notThere, `This host does not have ${method.slice(0, 100)}`);
      const result = await work(params);
      if (!this.ended.signal.aborted) this.ports.send({ jsonrpc: '2.0', id, result });
    } catch (error) {
      const { code, message } = error instanceof Refusal ? error : new Refusal(refused, 'This failed');
      this.ports.send({ jsonrpc: '2.0', id, error: { code, message } });
    }
  }

  private told(method: string, params: Params): void {
    if (method === 'ui/notifications/size-changed' && typeof params['height'] === 'number') {
      this.ports.onHeight(params['height']);
    }
    if (method !== 'ui/notifications/initialized' || this.isReady) return;
    this.isReady = true;
    const { app } = this.ports;
    this.notify('ui/notifications/tool-input', { arguments: app.arguments });
    this.notify('ui/notifications/tool-result', app.result);
  }

  private notify(method: string, params: object): void {
    this.ports.send({ jsonrpc: '2.0', method, params });
  }

  private greeting(): object {
    const { app, theme } = this.ports;
    return {
      protocolVersion,
      hostInfo: { name: 'signalbox', version: '1' },
      hostCapabilities: { openLinks: {}, serverTools: {} },
      hostContext: {
        toolInfo: { tool: app.tool },
        theme: theme(),
        displayMode: 'inline',
        availableDisplayModes: ['inline'],
        locale: document.documentElement.lang,
        platform: 'web',
      },
    };
  }

  /** One question at a time: an app must not bury the page under them. */
  private async openLink(given: unknown): Promise<object> {
    const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
    if (url === undefined || !['https:', 'http:'].includes(url.protocol)) {
      throw new Refusal(invalidParams, 'Only links to web pages can be opened');
    }
    if (this.isAsking) throw new Refusal(refused, 'Another link waits for an answer');
    this.isAsking = true;
    try {
      if (!(await this.ports.mayOpen(url))) throw new Refusal(refused, 'The person did not want this link');
      return {};
    } finally {
      this.isAsking = false;
    }
  }

  private async callTool({ name: own, arguments: given }: Params): Promise<object> {
    const { app } = this.ports;
    const name = typeof own === 'string' && Object.hasOwn(app.tools, own) ? app.tools[own] : undefined;
    if (typeof name !== 'string') throw new Refusal(invalidParams, 'This app cannot call this tool');
    if (this.calls >= maxCallsAtOnce) throw new Refusal(refused, `At most ${maxCallsAtOnce} calls at once`);
    this.calls += 1;
    try {
      const call = { name, arguments: (given ?? {}) as never, session_id: app.session_id };
      const answer = await api.tools.call(call, { signal: this.ended.signal });
      if ('approval' in answer) return failure('This call waits for an approval. Once it is approved, call it again');
      if ('sign_in' in answer) return failure('This call needs a sign-in at the tool server');
      return toResult(answer);
    } catch (error) {
      if (error instanceof SignalboxError) return failure(error.message);
      throw error;
    } finally {
      this.calls -= 1;
    }
  }
}

const teardownId = 'signalbox-teardown';

const failure = (text: string) => ({ content: [{ type: 'text', text }], isError: true });

const toResult = ({ content, blocks, structured_content: structuredContent, meta }: EndedCall) => ({
  content: blocks ?? [{ type: 'text', text: content }],
  ...(structuredContent === undefined ? {} : { structuredContent }),
  ...(meta === undefined ? {} : { _meta: meta }),
});
