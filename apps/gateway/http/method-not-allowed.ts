// Tells a wrong method from a wrong address: Fastify answers both with 404.
import type { FastifyInstance } from 'fastify';

export interface KnownRoutes {
  /** The methods of the address, where it has any. */
  methods(path: string): string[];
}

/** Must be registered before the routes are. */
export function watchRoutes(fastify: FastifyInstance): KnownRoutes {
  const routes: { pattern: RegExp; methods: string[] }[] = [];
  fastify.addHook('onRoute', (route) => {
    const source = route.url
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[A-Za-z]+/g, '[^/]+')
      .replace(/\*/g, '.*');
    routes.push({ pattern: new RegExp(`^${source}/?$`), methods: [route.method].flat() });
  });
  return {
    methods(path) {
      const matching = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
      return [...new Set(matching)].filter((method) => method !== 'OPTIONS');
    },
  };
}
