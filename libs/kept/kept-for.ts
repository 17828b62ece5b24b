// Keeps what is made of an object as long as that object lives: catalogs, lists and definitions are other objects after every change.

/** `make`, called again for an object only when the other arguments are not those of the last time. */
export function keptFor<Key extends object, More extends readonly unknown[], Made>(
  make: (key: Key, ...more: More) => Made,
): (key: Key, ...more: More) => Made {
  const kept = new WeakMap<Key, { more: More; made: Made }>();
  return (key, ...more) => {
    const known = kept.get(key);
    if (known?.more.every((each, at) => each === more[at]) === true) return known.made;
    const made = make(key, ...more);
    kept.set(key, { more, made });
    return made;
  };
}
