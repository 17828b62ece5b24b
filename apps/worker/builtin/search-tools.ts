// Tools of the builtin server `workspace` that search files, read stored results, and give the time.
import { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { walk } from '#libs/workspace/walk.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { globMatcher, matcher, matchLines, type Matches } from './match-lines.js';
import { readText, textResult } from './read-text.js';

export const resultsDirectory = '.results';

const readOnly = { readOnlyHint: true, openWorldHint: false };

const searchInput = z.object({
  path: z.string().min(1).default('.').describe('Directory to search in'),
  name: z
    .string()
    .min(1)
    .optional()
    .describe('Glob of the name, or of the path when it has a slash: *.ts, src/**/*.md'),
  content: z.string().min(1).optional().describe('Text that a line must contain'),
  regex: z.boolean().default(false).describe('content is a regular expression (RE2 syntax)'),
  ignore_case: z.boolean().default(false),
  limit: z.int().min(1).max(1_000).default(100).describe('Matches'),
});
const resultInput = z.object({
  path: z.string().min(1).describe('As the cut result named it'),
  offset: z.int().min(0).default(0).describe('First byte'),
  limit: z.int().min(1).optional().describe('Bytes'),
  grep: z.string().min(1).optional().describe('Only lines that match this regular expression (RE2 syntax)'),
});
const timeInput = z.object({
  offset_ms: z.number().default(0).describe('Added to the current time, ms: -86400000 is yesterday'),
  timezone: z.string().min(1).default('UTC').describe('IANA name, such as Asia/Shanghai, or an offset, such as +08:00'),
});

const maxSearchedBytes = 256 * 1024 * 1024;

interface Found {
  path: string;
  line?: number;
  text?: string;
}

@McpServer({ name: 'workspace' })
export class SearchTools {
  constructor(
    private readonly maxTextBytes: number,
    private readonly now: () => number = Date.now,
  ) {}

  @McpTool({
    name: 'search_files',
    title: 'Search files',
    description:
      'Find files of the workspace by name, by content, or both. Matches of content are shown with their lines.',
    input: searchInput,
    annotations: readOnly,
  })
  async searchFiles(input: z.output<typeof searchInput>, context: ToolContext) {
    const { found, truncated } = await search(input, context);
    const lines = found.map(({ path, line, text }) => (line === undefined ? path : `${path}:${line}: ${text}`));
    if (truncated) lines.push('[cut: narrow the search]');
    return {
      content: [{ type: 'text' as const, text: lines.length === 0 ? 'Nothing found' : lines.join('\n') }],
      structuredContent: { matches: found, truncated },
    };
  }

  @McpTool({
    name: 'read_result',
    title: 'Read a large result',
    description: 'Read on in a tool result that was too large to be shown whole.',
    input: resultInput,
    annotations: readOnly,
  })
  async readResult(input: z.output<typeof resultInput>, { workspace, signal }: ToolContext) {
    const path = input.path.replace(`${workspace.shownPath}/`, '');
    if (!path.startsWith(`${resultsDirectory}/`)) {
      throw new AppError(
        'invalid_tool_arguments',
        `Results are in ${resultsDirectory}/: use read_file for other files`,
      );
    }
    if (input.grep !== undefined) return this.grep(workspace, { ...input, path, grep: input.grep }, signal);
    const maxTextBytes = this.maxTextBytes;
    return textResult(
      await readText(workspace, { ...input, path, encoding: 'utf8', maxTextBytes }, signal),
      'read_result',
      false,
    );
  }

  @McpTool({
    name: 'get_time',
    title: 'Current time',
    description:
      'The current time, shifted by offset_ms: its timestamp in ms, and its date, weekday and time in a time zone.',
    input: timeInput,
    annotations: readOnly,
  })
  getTime({ offset_ms, timezone }: z.output<typeof timeInput>) {
    const timestamp = Math.round(this.now() + offset_ms);
    const { iso, shown } = timeIn(timestamp, timezone);
    // The first block is the bare number: callers parse it.
    const content = [String(timestamp), shown].map((text) => ({ type: 'text' as const, text }));
    return { content, structuredContent: { timestamp, iso, timezone } };
  }

  private async grep(
    workspace: Workspace,
    input: { path: string; offset: number; limit?: number | undefined; grep: string },
    signal: AbortSignal,
  ) {
    const matches = matcher(input.grep, { regex: true, ignoreCase: false });
    const maxBytes = Math.min(input.limit ?? this.maxTextBytes, this.maxTextBytes);
    const file = await workspace.openFile(input.path);
    const lines: string[] = [];
    let bytes = 0;
    try {
      for await (const { line, text } of matchLines(file, matches, { start: input.offset, signal })) {
        bytes += Buffer.byteLength(text) + 16;
        if (bytes > maxBytes) {
          lines.push('[cut: narrow the grep]');
          break;
        }
        lines.push(`${line}: ${text}`);
      }
    } finally {
      await file.close();
    }
    return lines.length === 0 ? 'Nothing found' : lines.join('\n');
  }
}

async function search(input: z.output<typeof searchInput>, { workspace, signal }: ToolContext) {
  if (input.name === undefined && input.content === undefined) {
    throw new AppError('invalid_tool_arguments', 'Set name, content or both');
  }
  const named: Matches = input.name === undefined ? () => true : globMatcher(input.name);
  const contains =
    input.content === undefined
      ? undefined
      : matcher(input.content, { regex: input.regex, ignoreCase: input.ignore_case });
  const found: Found[] = [];
  let searchedBytes = 0;
  const prefix = input.path === '.' ? '' : `${input.path.replace(/\/+$/, '')}/`;
  await workspace.ensure();
  const truncated = await workspace.withDirectory(input.path, async (directory) => {
    for await (const entry of walk(directory, { maxDepth: workspace.limits.maxDepth + 1, signal })) {
      const path = prefix + entry.path;
      if (!named(entry.path)) continue;
      if (found.length === input.limit) return true;
      if (contains === undefined) found.push({ path });
      else if (entry.stats.isFile()) {
        searchedBytes += Number(entry.stats.size);
        if (searchedBytes > maxSearchedBytes) return true;
        if (await addLines(workspace, { path, contains, found, limit: input.limit }, signal)) return true;
      }
    }
    return false;
  });
  return { found, truncated };
}

/** Returns true if the limit was reached. */
async function addLines(
  workspace: Workspace,
  search: { path: string; contains: Matches; found: Found[]; limit: number },
  signal: AbortSignal,
): Promise<boolean> {
  // The file may have been deleted since it was listed.
  const file = await workspace.openFile(search.path).catch((error: unknown) => {
    if (error instanceof AppError) return undefined;
    throw error;
  });
  if (file === undefined) return false;
  try {
    for await (const match of matchLines(file, search.contains, { signal })) {
      if (search.found.length === search.limit) return true;
      search.found.push({ path: search.path, ...match });
    }
    return false;
  } finally {
    await file.close();
  }
}

/**
 * ISO 8601 with the zone's offset, `2026-01-02T08:00:00.000+08:00`, and for a reader `Friday, 2026-01-02 08:00:00
 * UTC+08:00 (Asia/Shanghai)`. @throws AppError invalid_tool_arguments
 */
function timeIn(timestamp: number, timezone: string): { iso: string; shown: string } {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) throw new AppError('invalid_tool_arguments', 'offset_ms is out of range');
  const minutes = offsetMinutes(date, timezone);
  const local = new Date(timestamp + minutes * 60_000);
  if (Number.isNaN(local.getTime())) throw new AppError('invalid_tool_arguments', 'offset_ms is out of range');
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  const [day, time] = local.toISOString().slice(0, -1).split('T') as [string, string];
  const weekday = weekdays[local.getUTCDay()]!;
  const isUtc = timezone === 'UTC';
  return {
    iso: `${day}T${time}${isUtc ? 'Z' : offset}`,
    shown: `${weekday}, ${day} ${time.slice(0, 8)} UTC${isUtc ? '' : offset}${isUtc || fixedOffset.test(timezone) ? '' : ` (${timezone})`}`,
  };
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** `+08:00`, `+0800` or `+08`, which Intl supports only from Node 22. */
const fixedOffset = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/;

function offsetMinutes(date: Date, timeZone: string): number {
  // UTC is the usual zone, and a formatter of Intl costs more than the rest of the call.
  if (timeZone === 'UTC') return 0;
  const fixed = fixedOffset.exec(timeZone);
  if (fixed !== null) return signedMinutes(fixed[1]!, fixed[2]!, fixed[3]);
  let shown: string;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    shown = format.formatToParts(date).find((part) => part.type === 'timeZoneName')!.value;
  } catch {
    throw new AppError(
      'invalid_tool_arguments',
      `Unknown time zone '${timeZone}'. Use an IANA name, such as Asia/Shanghai or Europe/Berlin, UTC, or an offset, such as +08:00`,
    );
  }
  const match = /GMT([+-])(\d+):(\d+)/.exec(shown);
  return match === null ? 0 : signedMinutes(match[1]!, match[2]!, match[3]);
}

const signedMinutes = (sign: string, hours: string, minutes = '0') =>
  (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
