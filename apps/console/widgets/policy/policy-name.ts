import type { Tool } from '@signalbox/client';

/** The name of a tool in rules: a tool whose name is taken is listed with its server in front. */
export const policyNameOf = ({ server, function: { name } }: Tool): string =>
  `${server}/${name.startsWith(`${server}__`) ? name.slice(server.length + 2) : name}`;
