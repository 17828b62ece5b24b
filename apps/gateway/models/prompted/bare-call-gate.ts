// Holds back an answer that consists of JSON while it may be a call without tags, as Llama models write them. When it
// cannot be one, everything is passed to the parser of tagged calls.
import { type CallParser, type CallSink, maxCallChars } from './call-parser.js';
import { beginsFence } from './function-tags.js';
import { JsonScanner } from './json-scanner.js';
import { isSpace } from './lenient-json.js';
import { readBareCalls } from './read-calls.js';

/** The JSON must name a tool within this many characters. */
const maxHeadChars = 512;

const head = /^(?:\[\s*)?(?:\{\s*(?:"([^"\\]*)("\s*(?::\s*(?:"([^"\\]*)("?)|\{)?)?)?)?)?/;

export class BareCallGate {
  private looked = 0;
  private state: 'start' | 'json' | 'end' | 'passed' = 'start';
  private held = '';
  private scanned = 0;
  private fence = '';
  private from = 0;
  private to = 0;
  private named = false;
  private readonly scanner = new JsonScanner();

  constructor(
    private readonly names: ReadonlySet<string>,
    private readonly parser: CallParser,
    private readonly sink: CallSink,
  ) {}

  get examined(): number {
    return this.looked + this.parser.examined;
  }

  get heldChars(): number {
    return this.held.length + this.parser.heldChars;
  }

  feed(text: string): void {
    if (this.state === 'passed') return this.parser.feed(text);
    const before = this.held.length;
    this.held += text;
    for (let at = 0; at < text.length; at += 1) {
      this.looked += 1;
      if (!this.step(text[at]!, before + at)) return this.pass();
    }
    if (this.held.length > maxCallChars || !this.mayBeCall()) this.pass();
  }

  /** With `cut`, an unfinished call is neither a call nor text. */
  finish(cut: boolean): void {
    if (this.state === 'json' || this.state === 'end') {
      if (cut && this.named) return;
      const calls = this.state === 'end' ? readBareCalls(this.held.slice(this.from, this.to), this.names) : undefined;
      if (calls !== undefined) {
        this.parser.calls += calls.length;
        for (const call of calls) this.sink.call(call);
        return;
      }
    }
    if (this.state !== 'passed') this.pass();
    this.parser.finish(cut);
  }

  /** Returns false if the answer cannot be a bare call. */
  private step(character: string, position: number): boolean {
    switch (this.state) {
      case 'start':
        if (character === '{' || character === '[') {
          this.state = 'json';
          this.from = position;
          this.scanner.step(character);
          return true;
        }
        if (isSpace(character) && this.fence === '') return true;
        this.fence += character;
        return beginsFence(this.fence);
      case 'json':
        if (this.scanner.step(character)) {
          this.state = 'end';
          this.to = position + 1;
        }
        return true;
      case 'end':
        return isSpace(character) || (character === '`' && this.fence !== '');
      case 'passed':
        return false;
    }
  }

  /** Whether the start of the JSON may be a call of an offered tool. */
  private mayBeCall(): boolean {
    if (this.named || this.state === 'start' || this.scanned >= maxHeadChars) return true;
    const text = this.held.slice(this.from, this.from + maxHeadChars);
    this.scanned = text.length;
    this.looked += text.length;
    const [matched = '', key, keyEnd, value, valueEnd] = head.exec(text) ?? [];
    if (key === undefined) return matched.length === text.length;
    if (keyEnd === undefined) return matched.length === text.length && firstKeys.some((each) => each.startsWith(key));
    if (!firstKeys.includes(key)) return false;
    if (value === undefined) return true;
    const wanted = key === 'type' ? ['function'] : key === 'name' || key === 'function' ? [...this.names] : undefined;
    if (wanted === undefined) return true;
    if (valueEnd !== '"') return wanted.some((each) => each.startsWith(value));
    this.named = key !== 'type' && wanted.includes(value);
    return wanted.includes(value);
  }

  private pass(): void {
    this.state = 'passed';
    const { held } = this;
    this.held = '';
    this.parser.feed(held);
  }
}

const firstKeys = ['name', 'type', 'function', 'id', 'arguments', 'parameters'];
