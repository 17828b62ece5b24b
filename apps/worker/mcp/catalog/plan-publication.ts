// Decides for a listing which definitions are approved, which changes wait for an operator, and what is offered. Pure.
// What has a change that is held back is offered with its approved definition; what is new and held back is not offered. So it is
// for tools, prompts and instructions.
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { KnownTool, ToolWrite } from '#libs/runs/catalog/catalog-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade, DefinitionKind } from '#libs/schemas/tool-change.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import { gradeChange, type ListedDefinition } from './read-definitions.js';

/** One kind of definitions: what is offered of them. */
export interface Pinned<Published> {
  kindOf: (name: string) => DefinitionKind;
  publish: (definition: JsonObject, hash: string) => Published;
  /** The name under which it is offered. */
  nameOf: (published: Published) => string;
  isOffered: (name: string) => boolean;
}

export interface ListingInput<Published> {
  server: Pick<ConfiguredServer, 'changes'>;
  pinned: Pinned<Published>;
  listed: readonly ListedDefinition[];
  known: readonly KnownTool[];
  approved: ReadonlyMap<string, JsonObject>;
  /** Nothing of this kind of the server has been seen before. */
  firstListing: boolean;
}

export interface Publication<Published> {
  /** Only differences from the stored definitions. */
  writes: ToolWrite<Published>[];
  /** What was new and held back, and is no longer listed. */
  forgotten: string[];
  published: Published[];
  /** Whether gateways must read the catalog again. */
  changed: boolean;
  refused: string[];
}

/** What is known and whose approved definition differs from the listing, and is needed to compare them. */
export function needsDefinition(listed: readonly ListedDefinition[], known: readonly KnownTool[]): string[] {
  const hashes = new Map(listed.map(({ tool, hash }) => [tool, hash]));
  return known
    .filter(({ tool, definitionHash }) => definitionHash !== null && definitionHash !== hashes.get(tool))
    .map(({ tool }) => tool);
}

interface Decided<Published> extends Omit<ToolWrite<Published>, 'published' | 'before'> {
  known?: KnownTool;
  offered?: Published;
}

export async function planPublication<Published>(input: ListingInput<Published>): Promise<Publication<Published>> {
  const turns = new WorkSlices();
  const { pinned, listed, known } = input;
  const byTool = new Map(known.map((each) => [each.tool, each]));
  const decided: Decided<Published>[] = [];
  for (const [position, each] of listed.entries()) {
    await turns.next();
    decided.push(decideListed(each, position, byTool.get(each.tool), input));
  }
  const listedNames = new Set(listed.map(({ tool }) => tool));
  const gone = known.filter(({ tool }) => !listedNames.has(tool));
  for (const each of gone) if (each.definitionHash !== null) decided.push(decideGone(each, input));
  const forgotten = gone.filter(({ definitionHash }) => definitionHash === null).map(({ tool }) => tool);

  const published: Published[] = [];
  const names = new Set<string>();
  const refused: string[] = [];
  const writes: ToolWrite<Published>[] = [];
  let changed = false;
  for (const { known: before, offered, ...rest } of decided.sort((left, right) => left.position - right.position)) {
    await turns.next();
    const name = offered === undefined ? undefined : pinned.nameOf(offered);
    const isTwice = name !== undefined && names.has(name);
    if (isTwice) refused.push(`${name}: listed twice, the first one stays`);
    const shown = name === undefined || isTwice || !pinned.isOffered(rest.tool) ? undefined : offered;
    if (name !== undefined && shown !== undefined) {
      names.add(name);
      published.push(shown);
    }
    const write: ToolWrite<Published> = {
      ...rest,
      ...(before === undefined ? {} : { before }),
      published: shown === undefined ? null : withHash(shown),
    };
    const moved = write.published !== null && write.position !== before?.position;
    changed ||= moved || (write.published?.hash ?? null) !== (before?.publishedHash ?? null);
    if (differs(write, before)) writes.push(write);
  }
  return { writes, forgotten, published, changed, refused };
}

function decideListed<Published>(
  { tool, definition, hash }: ListedDefinition,
  position: number,
  known: KnownTool | undefined,
  input: ListingInput<Published>,
): Decided<Published> {
  const { server, pinned, firstListing } = input;
  const at = { tool, position, listed: true, ...(known === undefined ? {} : { known }) };
  const listedNow = () => pinned.publish(definition, hash);
  if (known?.definitionHash === hash) return { ...at, held: null, offered: listedNow() };
  const current = approvedOf(tool, known, input);
  const grade = current === undefined ? 'new' : gradeChange(current.definition, definition);
  const same = known?.held?.hash === hash ? known.held : undefined;
  const allowed = (firstListing && known === undefined) || server.changes[grade] === 'allow';
  if (allowed && same?.decision !== 'rejected') {
    const seen = firstListing && known === undefined ? {} : { seen: seenAs(grade, 'allowed', { hash, known }) };
    return { ...at, approved: { definition, hash }, held: null, offered: listedNow(), ...seen };
  }
  const held = pinned.isOffered(tool) ? withHash(listedNow()) : null;
  return {
    ...at,
    held: { grade, decision: same?.decision ?? 'pending', hash, definition, published: held },
    ...(current === undefined ? {} : { offered: pinned.publish(current.definition, current.hash) }),
    ...(same === undefined ? { seen: seenAs(grade, 'held', { hash, known }) } : {}),
  };
}

/** The definition stays stored, to be compared with a later one of the same name. */
function decideGone<Published>(known: KnownTool, input: ListingInput<Published>): Decided<Published> {
  const { tool, position } = known;
  const at = { tool, position, listed: false, known };
  const current = approvedOf(tool, known, input);
  const same = known.held?.grade === 'removed' ? known.held : undefined;
  const isNews = known.publishedHash !== null && same === undefined;
  const holds = input.server.changes.removed === 'hold' && (isNews || same !== undefined);
  const outcome = holds ? 'held' : 'allowed';
  const seen = isNews ? { seen: seenAs('removed', outcome, { hash: null, known }) } : {};
  if (current === undefined || !(holds || same?.decision === 'rejected')) return { ...at, held: null, ...seen };
  return {
    ...at,
    held: { grade: 'removed', decision: same?.decision ?? 'pending', hash: null, definition: null, published: null },
    offered: input.pinned.publish(current.definition, current.hash),
    ...seen,
  };
}

const withHash = <Published>(tool: Published) => ({ tool, hash: canonicalHash(tool) });

function approvedOf(tool: string, known: KnownTool | undefined, { approved }: Pick<ListingInput<unknown>, 'approved'>) {
  const definition = approved.get(tool);
  return definition === undefined || known?.definitionHash == null
    ? undefined
    : { definition, hash: known.definitionHash };
}

function seenAs(
  grade: ChangeGrade,
  outcome: 'allowed' | 'held',
  { hash, known }: { hash: string | null; known: KnownTool | undefined },
): NonNullable<ToolWrite['seen']> {
  return { grade, outcome, hash, was: known?.definitionHash ?? null };
}

function differs(write: ToolWrite<unknown>, before: KnownTool | undefined): boolean {
  if (before === undefined || write.approved !== undefined) return true;
  return (
    write.listed !== before.listed ||
    write.position !== before.position ||
    (write.published?.hash ?? null) !== before.publishedHash ||
    (write.held?.grade ?? null) !== (before.held?.grade ?? null) ||
    (write.held?.hash ?? null) !== (before.held?.hash ?? null) ||
    (write.held?.published?.hash ?? null) !== before.heldPublishedHash ||
    (write.held?.decision ?? null) !== (before.held?.decision ?? null)
  );
}
