// A value that parts of the page outside of React change, and that components follow.
import { useSyncExternalStore } from 'react';

export class ExternalValue<Value> {
  private readonly followers = new Set<() => void>();

  constructor(private value: Value) {}

  readonly get = (): Value => this.value;

  set(value: Value): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const follower of this.followers) follower();
  }

  readonly follow = (follower: () => void): (() => void) => {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  };
}

export const useExternal = <Value>(value: ExternalValue<Value>): Value => useSyncExternalStore(value.follow, value.get);
