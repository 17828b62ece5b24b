// Which browser a sign-in was opened in: it gets a cookie that only the gateway can make. And the answers of issuers that wait for a
// click, sealed, so that a form has nothing that somebody else could have made.
import type { SignInAnswer } from '#libs/connections/oauth-flows.js';
import { flowMs } from '#libs/connections/flow-life.js';
import type { Vault } from '#libs/connections/vault.js';

const cookieOwner = ['sign-in cookie'];
const answerOwner = ['sign-in answer'];

export class FlowCookies {
  private readonly attributes: string;

  constructor(
    private readonly vault: Pick<Vault, 'seal' | 'open'>,
    publicUrl: string,
  ) {
    const { protocol, pathname } = new URL(publicUrl);
    const secure = protocol === 'https:' ? '; Secure' : '';
    const path = `${pathname.replace(/\/$/, '')}/connections`;
    this.attributes = `; Path=${path}; Max-Age=${flowMs / 1_000}; HttpOnly; SameSite=Lax${secure}`;
  }

  /** A value of Set-Cookie. */
  of(flowId: string): string {
    return `${nameOf(flowId)}=${this.vault.seal(flowId, cookieOwner)}${this.attributes}`;
  }

  /** Whether the cookies of a request say that its browser opened the sign-in. */
  has(flowId: string, header: string | undefined): boolean {
    const name = nameOf(flowId);
    const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('='));
    return pairs.some(([each, value = '']) => each === name && this.opened(value, cookieOwner) === flowId);
  }

  sealAnswer(answer: SignInAnswer): string {
    return this.vault.seal(answer, answerOwner);
  }

  /** Undefined if it was not sealed here. */
  openAnswer(sealed: string): SignInAnswer | undefined {
    return this.opened(sealed, answerOwner) as SignInAnswer | undefined;
  }

  private opened(sealed: string, owner: readonly string[]): unknown {
    try {
      return this.vault.open(sealed, owner);
    } catch {
      return undefined;
    }
  }
}

/** The end of an id is random. */
const nameOf = (flowId: string): string => `signalbox_sign_in_${flowId.slice(-12)}`;
