// A tool server whose effects, cancellations and durations a test can observe.
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { AppError } from '#libs/schemas/errors.js';

@McpServer({ name: 'probe' })
export class ProbeTools {
  readonly effects: string[] = [];
  /** When each cancelled call saw its signal, epoch ms. */
  readonly aborted: number[] = [];
  echoes = 0;
  running = 0;
  mostRunning = 0;

  @McpTool({
    description: 'Says it again.',
    input: z.object({ text: z.string() }),
    annotations: { readOnlyHint: true },
  })
  echo({ text }: { text: string }, context: ToolContext): string {
    this.echoes += 1;
    return `${context.sessionId}: ${text}`;
  }

  @McpTool({ description: 'Has an effect.', input: z.object({ text: z.string() }) })
  append({ text }: { text: string }): string {
    this.effects.push(text);
    return 'appended';
  }

  @McpTool({
    description: 'Takes its time.',
    input: z.object({ ms: z.number(), progress: z.boolean().default(false) }),
  })
  async slow({ ms, progress }: { ms: number; progress: boolean }, context: ToolContext): Promise<string> {
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    try {
      for (let done = 0; done < ms; done += 50) {
        await delay(50, undefined, { signal: context.signal });
        if (progress) context.reportProgress(done, ms, 'on the way');
      }
      return 'done';
    } catch (error) {
      this.aborted.push(Date.now());
      throw error;
    } finally {
      this.running -= 1;
    }
  }

  @McpTool({
    description: 'Reads slowly.',
    input: z.object({ ms: z.number() }),
    annotations: { readOnlyHint: true },
  })
  async readSlowly({ ms }: { ms: number }, context: ToolContext): Promise<string> {
    await delay(ms, undefined, { signal: context.signal });
    return 'read';
  }

  @McpTool({ description: 'Hears nothing.', input: z.object({ ms: z.number() }) })
  async stubborn({ ms }: { ms: number }): Promise<string> {
    await delay(ms);
    this.effects.push('stubborn');
    return 'late';
  }

  @McpTool({ description: 'Says much.', input: z.object({ bytes: z.number() }) })
  large({ bytes }: { bytes: number }): string {
    return 'x'.repeat(bytes);
  }

  @McpTool({ description: 'Fails.', input: z.object({ code: z.string().optional() }) })
  fail({ code }: { code?: string | undefined }): string {
    if (code === undefined) throw new Error('secret detail');
    throw new AppError('path_outside_workspace', 'That is outside');
  }
}
