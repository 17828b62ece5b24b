// Serves the empty page in which the console shows an app of a tool server. The page has no data and no origin: its policy is a
// sandbox, and lets it reach only the origins that its address names. The app's HTML is given to the page by the console around it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, type Json } from '#libs/schemas/json.js';

const path = 'console/app-frame';
/** For each query parameter: the member of an app's metadata, and what an origin there may begin with. */
const kinds = {
  connect: { member: 'connectDomains', schemes: ['https', 'wss'] },
  resource: { member: 'resourceDomains', schemes: ['https'] },
  frame: { member: 'frameDomains', schemes: ['https'] },
} as const;
type Kind = keyof typeof kinds;

const maxOrigins = 20;
const maxOriginLength = 255;
const origin = /^([a-z]+):\/\/((?:\*\.(?=[^.]+\.))?[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?$/i;

/** The address of the page, below the gateway's, for an app with this `csp`. Origins that cannot be allowed are left out. */
export function appFrameAddress(csp: Json | undefined, ownHosts: readonly string[]): string {
  const query = new URLSearchParams();
  for (const kind of Object.keys(kinds) as Kind[]) {
    const given = isJsonObject(csp) ? csp[kinds[kind].member] : undefined;
    for (const each of allowedOrigins(kind, Array.isArray(given) ? given : [], ownHosts)) query.append(kind, each);
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** Never the gateway's own, to which the page could otherwise speak as a page of the gateway. */
function allowedOrigins(kind: Kind, given: readonly unknown[], ownHosts: readonly string[]): string[] {
  const allowed = given.filter((each): each is string => {
    if (typeof each !== 'string' || each.length > maxOriginLength) return false;
    const [, scheme = '', host = ''] = origin.exec(each) ?? [];
    const isOwn = ownHosts.some(
      (own) => own === host.toLowerCase() || (host.startsWith('*') && own.endsWith(host.slice(1).toLowerCase())),
    );
    return (kinds[kind].schemes as readonly string[]).includes(scheme.toLowerCase()) && !isOwn;
  });
  return allowed.slice(0, maxOrigins);
}

/** The names of the gateway: that of the request, whose Host has been checked, and the configured one. */
export function ownHostsOf({ hostname }: Pick<FastifyRequest, 'hostname'>, publicUrl: string | undefined): string[] {
  return [hostname, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])].map((each) =>
    each.toLowerCase(),
  );
}

export function serveAppFrame(fastify: FastifyInstance, publicUrl: string | undefined): void {
  fastify.get(`/${path}`, (request: FastifyRequest, reply: FastifyReply) =>
    reply
      .headers({
        'content-security-policy': policyOf(request.query as Record<string, unknown>, ownHostsOf(request, publicUrl)),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .type('text/html; charset=utf-8')
      .send(page),
  );
}

function policyOf(query: Record<string, unknown>, ownHosts: readonly string[]): string {
  const named = (kind: Kind) => allowedOrigins(kind, [query[kind]].flat(), ownHosts).join(' ');
  const [connect, resource, frame] = [named('connect'), named('resource'), named('frame')];
  return [
    "default-src 'none'",
    `script-src 'unsafe-inline' ${resource}`,
    `style-src 'unsafe-inline' ${resource}`,
    `img-src data: blob: ${resource}`,
    `font-src data: ${resource}`,
    `media-src data: blob: ${resource}`,
    `connect-src ${connect === '' ? "'none'" : connect}`,
    `frame-src ${frame === '' ? "'none'" : frame}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-scripts',
  ]
    .map((directive) => directive.trim())
    .join('; ');
}

/** Takes HTML once, from the page around it and from no other origin. What is written into a document keeps its policy. */
const page = `<!doctype html><meta charset="utf-8"><title>App</title><script>
addEventListener('message', function take({ source, origin, data }) {
  if (parent === window || source !== parent || origin !== location.origin || typeof data?.html !== 'string') return;
  removeEventListener('message', take);
  document.open();
  document.write(data.html);
  document.close();
});
if (parent !== window) parent.postMessage('frame-ready', location.origin);
</script>`;
