// Which server returned a link to a resource, so that the resource can be read although no list has it. Kept in this process, for
// the principal and workspace of the call, and bounded.
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';

export interface LinkOwner {
  principal: string;
  sessionId: string;
}

const maxLinks = 10_000;

export class ResourceLinks {
  /** The least recently returned first. */
  private readonly servers = new Map<string, string>();

  remember(owner: LinkOwner, server: string, { blocks }: Pick<ToolOutcome, 'blocks'>): void {
    for (const block of blocks) {
      if (block.type !== 'resource_link') continue;
      const key = keyOf(owner, block.uri);
      this.servers.delete(key);
      this.servers.set(key, server);
      if (this.servers.size > maxLinks) this.servers.delete(this.servers.keys().next().value!);
    }
  }

  serverOf(owner: LinkOwner, uri: string): string | undefined {
    return this.servers.get(keyOf(owner, uri));
  }
}

const keyOf = ({ principal, sessionId }: LinkOwner, uri: string): string => JSON.stringify([principal, sessionId, uri]);
