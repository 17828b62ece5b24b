// Finds the end of a JSON object or array, one character at a time. Brackets inside strings do not count. Does not validate
// the JSON.

export class JsonScanner {
  inString = false;
  private escaped = false;
  private depth = 0;

  /** Whether this character would close the outermost bracket. */
  ends(character: string): boolean {
    return this.depth === 1 && !this.inString && (character === '}' || character === ']');
  }

  /** Returns true for the character that closes the outermost bracket. The first character must be `{` or `[`. */
  step(character: string): boolean {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (character === '\\') this.escaped = true;
      else if (character === '"') this.inString = false;
      return false;
    }
    if (character === '"') this.inString = true;
    else if (character === '{' || character === '[') this.depth += 1;
    else if (character === '}' || character === ']') this.depth -= 1;
    return this.depth === 0;
  }
}
