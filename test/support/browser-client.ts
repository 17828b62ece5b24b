// A browser without a window, for the pages of a sign-in: it keeps cookies, follows nothing by itself, and says where a form is from.
export class BrowserClient {
  private readonly cookies = new Map<string, string>();

  constructor(
    private readonly origin: string,
    private readonly language = 'en',
  ) {}

  async get(address: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.send(address, { headers });
  }

  /** As the form of a page of the gateway. */
  async post(address: string, form: Record<string, string> = {}, headers: Record<string, string> = {}) {
    return this.send(address, {
      method: 'POST',
      headers: { origin: this.origin, 'sec-fetch-site': 'same-origin', ...headers },
      body: new URLSearchParams(form),
    });
  }

  /** As a script of the console. */
  async call(path: string, key: string, body: object = {}): Promise<Response> {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
    };
    return this.send(this.origin + path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  private async send(address: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const own = { 'accept-language': this.language, ...(cookie === '' ? {} : { cookie }) };
    const answer = await fetch(address, {
      ...init,
      headers: { ...own, ...(init.headers as Record<string, string>) },
      redirect: 'manual',
    });
    for (const each of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(each)!;
      this.cookies.set(name!, value!);
    }
    return answer;
  }
}
