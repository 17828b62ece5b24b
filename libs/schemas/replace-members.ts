// An object with some members replaced. The others have the object itself as their `this`.

export function replaceMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const found: unknown = name in members ? members[name as keyof T] : Reflect.get(target, name);
      return typeof found === 'function' ? (found as () => unknown).bind(target) : found;
    },
  });
}
