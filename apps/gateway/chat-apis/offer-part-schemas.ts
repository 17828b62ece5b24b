// How a request names a resource or a prompt of a tool server among the content of a user.
import { z } from 'zod';
import { typedAs } from './other-types.js';

const name = z.string().min(1).max(2_048);
const server = z.string().min(1).max(64).nullish();

export const resourcePart = typedAs('mcp_resource', { uri: name, server });
export const promptPart = typedAs('mcp_prompt', {
  name,
  server,
  arguments: z.record(z.string(), z.string().max(65_536)).nullish(),
});
