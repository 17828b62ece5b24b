// What is typed into the form of a new key, and the key that it means.
import type { NewApiKey } from '@signalbox/client';
import { keysStrings } from '../strings.js';

export const keyScopes = ['chat', 'tools', 'files', 'admin'] as const;
export type KeyScope = (typeof keyScopes)[number];

/** Fields that are typed, by the names that the API has for them in its refusals. */
export const typedFields = [
  'owner',
  'name',
  'roles',
  'models',
  'tools.allow',
  'tools.deny',
  'limits.requests_per_minute',
  'limits.tokens_per_minute',
  'limits.turns',
  'budgets.day_usd',
  'budgets.month_usd',
  'expires_at',
] as const;
export type TypedField = (typeof typedFields)[number];

export interface KeyValues {
  typed: Readonly<Partial<Record<TypedField, string>>>;
  scopes: readonly KeyScope[];
  /** Days until it ends, `never`, or `date`: the day of `expires_at`. */
  expiry: string;
}

export const emptyKey: KeyValues = { typed: {}, scopes: ['chat', 'tools', 'files'], expiry: 'never' };

export type KeyProblems = Readonly<Partial<Record<TypedField | 'scopes', string>>>;

const dayMs = 86_400_000;

export const globsOf = (text = ''): string[] =>
  text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '');

/** `problems`: what the gateway could not be asked about. */
export function readKey(
  { typed, scopes, expiry }: KeyValues,
  texts: { isMissing: string; isNoNumber: string; noScope: (typeof keysStrings)['en']['noScope'] },
): { key: NewApiKey; problems: KeyProblems } {
  const problems: Partial<Record<TypedField | 'scopes', string>> = {};
  const text = (name: TypedField) => typed[name]?.trim() ?? '';
  const number = (name: TypedField) => {
    if (text(name) === '') return undefined;
    const value = Number(text(name));
    if (!Number.isFinite(value)) problems[name] = texts.isNoNumber;
    return value;
  };
  const list = (name: TypedField) => (text(name) === '' ? undefined : globsOf(text(name)));
  if (text('owner') === '') problems.owner = texts.isMissing;
  if (scopes.length === 0) problems.scopes = texts.noScope;
  if (expiry === 'date' && text('expires_at') === '') problems.expires_at = texts.isMissing;
  const expiresAt =
    expiry === 'never'
      ? undefined
      : expiry === 'date'
        ? `${text('expires_at')}T23:59:59Z`
        : new Date(Date.now() + Number(expiry) * dayMs).toISOString();
  const key = given({
    owner: text('owner'),
    name: text('name') || undefined,
    scopes: [...scopes],
    roles: list('roles'),
    models: list('models'),
    tools: given({ allow: list('tools.allow'), deny: list('tools.deny') }),
    limits: given({
      requests_per_minute: number('limits.requests_per_minute'),
      tokens_per_minute: number('limits.tokens_per_minute'),
      turns: number('limits.turns'),
    }),
    budgets: given({ day_usd: number('budgets.day_usd'), month_usd: number('budgets.month_usd') }),
    expires_at: expiresAt,
  });
  return { key, problems };
}

/** The field of a refusal: its list, if the API names an entry of it. */
export function fieldOf(param: string | undefined): TypedField | 'scopes' | undefined {
  const name = param?.replace(/\[\d+\]$/, '');
  return name === 'scopes' ? name : typedFields.find((each) => each === name);
}

type Given<Members> = { [Name in keyof Members]: Exclude<Members[Name], undefined> };

/** Without the members that are not there. */
const given = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
