import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { verifies } from '../../../test/verifies.js';
import { originGuard } from './origin-guard.js';

const ask = (environment: Record<string, string>, host: string, origin?: string) => {
  const headers = { host, ...(origin === undefined ? {} : { origin }) };
  const request = { method: 'POST', url: '/connections/callback', headers, raw: { rawHeaders: ['Host', host] } };
  const reply = { headers: () => reply };
  return () =>
    originGuard(readConfig({ environment }).server)(request as FastifyRequest, reply as unknown as FastifyReply);
};

verifies('connections.pages', 'the gateway answers at its public address, and takes forms from there alone', () => {
  const environment = { SERVER_PUBLIC_URL: 'https://tools.example.com:8443/box' };
  expect(ask(environment, 'tools.example.com')()).toBe(false);
  // A proxy that does not pass the host name on.
  expect(ask(environment, '127.0.0.1:8000', 'https://tools.example.com:8443')()).toBe(false);
  expect(ask(environment, '127.0.0.1:8000', 'https://other.example.com')).toThrow('Origin');
  expect(ask(environment, 'other.example.com')).toThrow('Host');
  expect(ask({}, 'tools.example.com')).toThrow('Host');
});
