// Tools of the builtin server `workspace` that read and change files.
import { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { ListedEntry } from '#libs/workspace/list-entries.js';
import { encodeText, encodingNamed } from './decode-text.js';
import { readText, textResult } from './read-text.js';

const path = z.string().min(1).describe('Relative to the workspace; /tmp/... is the own temporary directory');
const encoding = z.string().default('utf-8').describe('utf-8, gbk, ascii, latin1, utf-16le, ..., or base64 for bytes');
const createDirs = z.boolean().default(false).describe('Make missing directories');

const readInput = z.object({
  path,
  encoding,
  offset: z.int().min(0).default(0).describe('First byte'),
  limit: z.int().min(1).optional().describe('Bytes to read'),
});
const writeInput = z.object({
  path,
  content: z.string(),
  encoding,
  append: z.boolean().default(false).describe('Add to the end instead of replacing'),
  create_dirs: createDirs,
});
const editInput = z.object({
  path,
  old_text: z.string().min(1).describe('Must occur exactly once, unless replace_all'),
  new_text: z.string(),
  replace_all: z.boolean().default(false),
});
const listInput = z.object({
  path: z.string().min(1).default('.').describe('Directory'),
  recursive: z.boolean().default(false),
  limit: z.int().min(1).max(5_000).default(1_000).describe('Entries'),
});
const infoInput = z.object({ path });
const deleteInput = z.object({
  path,
  recursive: z.boolean().default(false).describe('Directories with all in them'),
});
const moveInput = z.object({
  source: path,
  destination: path,
  overwrite: z.boolean().default(false),
  create_dirs: createDirs,
});

const closedWorld = { openWorldHint: false };
const readOnly = { readOnlyHint: true, ...closedWorld };
const changing = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, ...closedWorld };

/** An edit reads the whole file into memory. */
const maxEditBytes = 16 * 1024 * 1024;

@McpServer({ name: 'workspace' })
export class FileTools {
  /** `maxTextBytes` bounds the text of a result. */
  constructor(private readonly maxTextBytes: number) {}

  @McpTool({
    name: 'read_file',
    title: 'Read file',
    description:
      'Read a file of the workspace as text, or as base64. Large files are read in parts by offset and limit.',
    input: readInput,
    annotations: readOnly,
    readsFile: 'path',
  })
  async readFile(input: z.output<typeof readInput>, { workspace, signal }: ToolContext) {
    const range = { ...input, encoding: encodingNamed(input.encoding), maxTextBytes: this.maxTextBytes };
    const part = await readText(workspace, range, signal);
    const asked = input.limit !== undefined && part.nextOffset === input.offset + input.limit;
    return textResult(part, 'read_file', asked);
  }

  @McpTool({
    name: 'write_file',
    title: 'Write file',
    description: 'Write text (or base64) to a file of the workspace, replacing it whole, or append to it.',
    input: writeInput,
    annotations: changing,
  })
  async writeFile(input: z.output<typeof writeInput>, { workspace, signal }: ToolContext) {
    const bytes = encodeText(input.content, encodingNamed(input.encoding));
    const options = { append: input.append, createDirectories: input.create_dirs, signal };
    const { info, created } = await withHint(workspace.write(input.path, bytes, options), input.path);
    return {
      content: [{ type: 'text' as const, text: `Wrote ${bytes.length} bytes to ${input.path}` }],
      structuredContent: { path: input.path, bytes: bytes.length, size: info.size, created },
    };
  }

  @McpTool({
    name: 'edit_file',
    title: 'Edit file',
    description: 'Replace a passage of a UTF-8 text file.',
    input: editInput,
    annotations: changing,
  })
  async editFile(input: z.output<typeof editInput>, { workspace, signal }: ToolContext) {
    const { text, etag } = await wholeText(workspace, input.path, signal);
    const parts = text.split(input.old_text);
    const count = parts.length - 1;
    if (count === 0) throw new AppError('tool_failed', `old_text does not occur in '${input.path}'`);
    if (count > 1 && !input.replace_all) {
      throw new AppError(
        'tool_failed',
        `old_text occurs ${count} times in '${input.path}': include more of the text around it, or set replace_all`,
      );
    }
    await workspace.write(input.path, Buffer.from(parts.join(input.new_text)), {
      signal,
      expected: (current) => {
        if (current?.etag !== etag)
          throw new AppError('tool_failed', `'${input.path}' was changed in the meantime: try again`);
      },
    });
    return {
      content: [{ type: 'text' as const, text: `Replaced ${count} passage${count === 1 ? '' : 's'} in ${input.path}` }],
      structuredContent: { path: input.path, replacements: count },
    };
  }

  @McpTool({
    name: 'list_directory',
    title: 'List directory',
    description: 'List the files and directories of a directory of the workspace.',
    input: listInput,
    annotations: readOnly,
  })
  async listDirectory(input: z.output<typeof listInput>, { workspace, signal }: ToolContext) {
    const { entries, truncated } = await workspace.list(input.path, { ...input, signal });
    const lines = entries.map(line);
    if (truncated) lines.push(`[cut after ${entries.length} entries]`);
    return {
      content: [{ type: 'text' as const, text: lines.length === 0 ? '(empty)' : lines.join('\n') }],
      structuredContent: { entries: entries.map(shownEntry), truncated },
    };
  }

  @McpTool({
    name: 'file_info',
    title: 'File information',
    description: 'Type, size and times of a file or directory.',
    input: infoInput,
    annotations: readOnly,
  })
  async fileInfo(input: z.output<typeof infoInput>, { workspace }: ToolContext) {
    return shownEntry({ path: input.path, ...(await workspace.stat(input.path)) });
  }

  @McpTool({
    name: 'delete_file',
    title: 'Delete file',
    description: 'Delete a file or an empty directory; with recursive a directory and all in it.',
    input: deleteInput,
    annotations: changing,
  })
  async deleteFile(input: z.output<typeof deleteInput>, { workspace, signal }: ToolContext) {
    await workspace.remove(input.path, { recursive: input.recursive, signal });
    return `Deleted ${input.path}`;
  }

  @McpTool({
    name: 'move_file',
    title: 'Move file',
    description: 'Move or rename a file or directory within the workspace.',
    input: moveInput,
    annotations: changing,
  })
  async moveFile(input: z.output<typeof moveInput>, { workspace, signal }: ToolContext) {
    const options = { overwrite: input.overwrite, createDirectories: input.create_dirs, signal };
    await withHint(workspace.move(input.source, input.destination, options), input.destination);
    return `Moved ${input.source} to ${input.destination}`;
  }
}

async function wholeText(workspace: ToolContext['workspace'], path: string, signal: AbortSignal) {
  const file = await workspace.openFile(path);
  try {
    if (file.info.size > maxEditBytes) {
      throw new AppError('tool_failed', `'${path}' is too large to edit: at most ${maxEditBytes} bytes`);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of file.read({}, signal)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) throw new AppError('tool_failed', `'${path}' is not UTF-8 text`);
    return { text, etag: file.info.etag };
  } finally {
    await file.close();
  }
}

/** If a write reports something of its path as missing, the directory is missing. */
async function withHint<T>(writing: Promise<T>, path: string): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'file_not_found') throw error;
    // If another path is missing, it is the source of the move.
    const missing = /'(.*)'/.exec(error.message)?.[1] ?? '';
    if (!`/${path}/`.includes(`/${missing}/`)) throw error;
    throw new AppError('tool_failed', `The directory of '${path}' does not exist: set create_dirs to create it`);
  }
}

function line(entry: ListedEntry): string {
  if (entry.type === 'directory') return `${entry.path}/`;
  return entry.type === 'file' ? `${entry.path} (${entry.size} bytes)` : `${entry.path} (${entry.type})`;
}

const shownEntry = (entry: ListedEntry) => ({
  path: entry.path,
  type: entry.type,
  size: entry.type === 'file' ? entry.size : 0,
  modified_at: entry.modifiedAt.toISOString(),
});
