// A Signalbox with its console, a browser, and keys of several people: for tests of views.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignalboxError, Signalbox as Client } from '../../../clients/typescript/src/index.js';
import { temporaryDirectory } from '../services/start-process.js';
import { type SignalboxHere, startSignalboxHere } from '../services/start-signalbox.js';
import { type Person, type PersonOptions, TestBrowser } from './test-browser.js';

export interface KeyMembers {
  scopes: readonly ('chat' | 'tools' | 'files' | 'admin')[];
  roles?: readonly string[];
}

export class ConsoleWorld {
  private readonly keys = new Map<string, string>();

  private constructor(
    readonly box: SignalboxHere,
    readonly browser: TestBrowser,
    private readonly removeDirectory: () => Promise<void>,
  ) {}

  /** `people`: the owners of keys. The first one must be an administrator. */
  static async open(
    config: object,
    people: Readonly<Record<string, KeyMembers>>,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ConsoleWorld> {
    const directory = await temporaryDirectory();
    const file = join(directory.path, 'signalbox.yaml');
    writeFileSync(file, JSON.stringify(config));
    const box = await startSignalboxHere({ environment: { ...environment, SIGNALBOX_CONFIG: file }, scripted: false });
    const world = new ConsoleWorld(box, await TestBrowser.open(box.url), directory.remove);
    let admin: string | undefined;
    for (const [owner, members] of Object.entries(people)) {
      const answer = await fetch(`${box.url}/api/keys`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(admin === undefined ? {} : { authorization: `Bearer ${admin}` }),
        },
        body: JSON.stringify({ owner, ...members }),
      });
      const { key } = (await answer.json()) as { key: string };
      admin ??= key;
      world.keys.set(owner, key);
    }
    return world;
  }

  /** As that person by the API. */
  api(owner: string): Client {
    return new Client({ baseUrl: this.box.url, apiKey: this.keys.get(owner)!, maxRetries: 0 });
  }

  /** As that person in the browser. */
  asPerson(owner: string, options: PersonOptions = {}): Promise<Person> {
    return this.browser.asPerson({ key: this.keys.get(owner)!, ...options });
  }

  async close(): Promise<void> {
    try {
      await this.browser.close();
    } finally {
      await this.box.close();
      await this.removeDirectory();
    }
  }
}

/** The status of the error that a call of the API ends with. */
export const statusOfCall = (call: Promise<unknown>): Promise<number | undefined> =>
  call.then(
    () => 200,
    (error: unknown) => (error instanceof SignalboxError ? error.status : undefined),
  );
