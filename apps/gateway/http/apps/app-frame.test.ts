import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { appFrameAddress, ownHostsOf } from './app-frame.js';

const own = ownHostsOf({ hostname: 'GW.example.com' }, 'https://public.example.org/signalbox');
const originsOf = (csp: object) => {
  const [, query = ''] = appFrameAddress(csp as never, own).split('?');
  return [...new URLSearchParams(query)].map(([kind, origin]) => `${kind} ${origin}`);
};

verifies('console.apps-confined', 'only origins over TLS, and never those of the gateway', () => {
  expect(appFrameAddress(undefined, own)).toBe('console/app-frame');
  expect(
    originsOf({
      connectDomains: ['https://api.test', 'wss://live.test:8443', 'http://plain.test', 'https://gw.example.com', 7],
      resourceDomains: ['https://*.cdn.test', 'wss://cdn.test', 'https://*', 'https://*.test', '*', "'self'", 'data:'],
      frameDomains: ['https://video.test/path', 'https://a.test; script-src *', 'https://*.example.org', 'https:'],
    }),
  ).toEqual(['connect https://api.test', 'connect wss://live.test:8443', 'resource https://*.cdn.test']);
  expect(originsOf({ connectDomains: Array.from({ length: 100 }, (_, at) => `https://a${at}.test`) })).toHaveLength(20);
  expect(originsOf({ connectDomains: 'https://api.test' })).toEqual([]);
});
