// Joins namespace and name to one name for models. Equal names in two namespaces stay two tools.

/** Clients put tools without a namespace into this one. */
const defaultNamespace = 'functions';

export class JoinedNames {
  /** By joined name: namespace and name. */
  private readonly known = new Map<string, { namespace: string; name: string }>();

  /** The joined name of a pair; another pair with the same joined name gets a different one. */
  join(namespace: string | null | undefined, name: string): string {
    if (!namespace || namespace === defaultNamespace) return name;
    const joined = `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`;
    for (let number = 1; ; number += 1) {
      const wished = number === 1 ? joined : `${joined}_${number}`;
      const taken = this.known.get(wished);
      if (taken === undefined) this.known.set(wished, { namespace, name });
      if (taken === undefined || (taken.namespace === namespace && taken.name === name)) return wished;
    }
  }

  /** The joined names of a tool that is named without its namespace. */
  named(name: string): string[] {
    return [...this.known].flatMap(([joined, known]) => (known.name === name ? [joined] : []));
  }

  within(namespace: string): string[] {
    return [...this.known].flatMap(([joined, known]) => (known.namespace === namespace ? [joined] : []));
  }
}
