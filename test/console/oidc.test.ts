// Signing in to the console at an issuer that asks nobody and checks the proof key.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { TestBrowser } from '../support/browser/test-browser.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type SignInIssuer, startSignInIssuer } from '../support/sign-in-issuer.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const suite = `signing in at an issuer${noChromium === undefined ? '' : ` (${noChromium})`}`;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let tokens: TokenIssuer;
  let issuer: SignInIssuer;
  let browser: TestBrowser;

  beforeAll(async () => {
    tokens = await startTokenIssuer();
    issuer = await startSignInIssuer(tokens, { subject: 'carol' });
    const jwt = { issuer: issuer.url, audience, console_client_id: 'signalbox-console' };
    box = await startSignalboxHere({
      workers: 0,
      environment: Object.fromEntries(
        Object.entries(jwt).map(([name, value]) => [`AUTH_JWT_${name.toUpperCase()}`, value]),
      ),
    });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
    await issuer?.close();
    await tokens?.stop();
  });

  verifies('console.oidc', 'in a window of its own, and the page goes on as that person', async () => {
    const policy = (await fetch(`${box.url}/console/`)).headers.get('content-security-policy');
    expect(policy).toContain(`connect-src 'self' ${issuer.url}`);
    const person = await browser.asPerson({ origins: [issuer.url] });
    const { page } = person;
    await person.open();
    const popup = page.waitForEvent('popup');
    await page.getByRole('button', { name: `Sign in with ${new URL(issuer.url).host}` }).click();
    await popup;
    await page.getByText('Signed in as carol').waitFor();
    expect(issuer.exchanged).toHaveLength(1);
    expect(new URL(page.url()).search).toBe('');
    await person.leave();
  });
});
