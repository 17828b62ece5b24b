// Finds the allowed methods of a path, for 405 answers: Fastify answers wrong methods with 404.
import type { FastifyInstance } from 'fastify';

export interface KnownRoutes {
  /** Empty for an unknown path. */
  methods(path: string): string[];
}

/** Call it before the routes are registered. */
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
