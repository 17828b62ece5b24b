import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { checkExposure } from './check-exposure.js';
import { readConfig } from '../read-config.js';

const read = (environment: Record<string, string>) => readConfig({ environment });

verifies('operations.config-loopback', 'outside without keys refuses, and says what to do', () => {
  for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'example.com']) {
    expect(() => checkExposure(read({ HOST }), false)).toThrow('AUTH_MODE=off');
    checkExposure(read({ HOST }), true);
    checkExposure(read({ HOST, AUTH_MODE: 'off' }), false);
  }
  for (const HOST of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) checkExposure(read({ HOST }), false);
});
