// Where a replayed call has its result from, in words.
import type { ShownCall } from '@signalbox/client';

type Texts = Readonly<Record<`replayed_${'same' | 'other_arguments' | 'none'}`, string>>;

/** Nothing for a call that was run, nor for one that the draft of a policy refused. The file of a run may say anything. */
export function sourceOf({ replayed, kind, policy }: ShownCall, texts: Texts): string[] {
  if (kind === 'client' || (replayed === 'none' && policy?.verdict === 'deny')) return [];
  const source = replayed ?? undefined;
  return source === undefined ? [] : [texts[`replayed_${source}`] ?? source];
}
