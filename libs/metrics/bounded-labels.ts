// Values that may stand in a label: the first `limit` that were admitted. All others are `other`, so that no caller can
// make series without end.

export const otherLabel = 'other';
const maxLength = 128;

export class BoundedLabels {
  private readonly admitted = new Set<string>();

  constructor(private readonly limit: number) {}

  /** `admit` only what is known to exist (a configured tool, a model that has answered). */
  label(value: string, admit: boolean): string {
    if (this.admitted.has(value)) return value;
    if (!admit || this.admitted.size >= this.limit || value === '' || value.length > maxLength) return otherLabel;
    this.admitted.add(value);
    return value;
  }
}
