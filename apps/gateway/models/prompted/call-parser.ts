// Tells text from function calls in an answer, character by character. Text goes out at
// once; only what may still become a tag is held. Work and memory are linear in the answer, whatever it says.
import { AppError } from '#libs/schemas/errors.js';
import { beginsFence, beginsTag, callClose, isFence, tagKind, type TagKind } from './function-tags.js';
import { JsonScanner } from './json-scanner.js';
import { isSpace } from './lenient-json.js';
import { readCalls, type ReadCall } from './read-calls.js';

export interface CallSink {
  text(text: string): void;
  call(call: ReadCall): void;
}

/** One call, characters. */
export const maxCallChars = 2 * 1024 * 1024;
/** Calls of one answer. */
export const maxCalls = 256;
const maxHeldSpace = 256;
/** How often a call that never closed gives back what stood behind its end tag. */
const maxSecondLooks = 8;
/** As much of a tag is no accident: it never goes out as text. */
const unmistakable = 6;

/**
 * `text`: outside. `before`: behind a start tag. `inside`: in the JSON of a call. `raw`: in a call that is no JSON.
 * `after`: the JSON is whole, its end tag may follow. `over`: the model plays both sides; nothing counts any more.
 */
type State = 'text' | 'before' | 'inside' | 'raw' | 'after' | 'over';

export class CallParser {
  /** Characters looked at so far: what it costs. */
  examined = 0;
  calls = 0;
  private state: State = 'text';
  private scanner = new JsonScanner();
  /** White space that goes out with the next text, and is dropped before a call. */
  private space = '';
  private fence = '';
  private tag = '';
  private body = '';
  /** A whole call that its end tag, or what follows, ends. */
  private pending?: string;
  /** A call began within a code fence, whose end is yet to come. */
  private fenceIsOpen = false;
  private spaceIsKept = false;
  private said = false;

  constructor(private readonly sink: CallSink) {}

  /** What is held back now. */
  get heldChars(): number {
    return this.space.length + this.fence.length + this.tag.length + this.body.length + (this.pending?.length ?? 0);
  }

  /** @throws AppError model_bad_response when a bound is passed */
  feed(text: string): void {
    for (let at = 0; at < text.length;) {
      const end = this.takeRun(text, at);
      if (end < text.length) this.step(text[end]!);
      this.examined += end + 1 - at;
      at = end + 1;
    }
    if (this.body.length > maxCallChars) throw tooLarge(`a tool call of more than ${maxCallChars} characters`);
  }

  /** The answer is over. `cut`: not by the model's own will, so that a call that has not ended never does. */
  finish(cut: boolean): void {
    for (let looks = cut ? maxSecondLooks : 0; looks < maxSecondLooks; looks += 1) {
      const rest = this.endBody();
      if (rest === undefined) break;
      this.feed(rest);
    }
    if (this.state !== 'text') {
      if (cut) delete this.pending;
      if (cut) this.space = '';
      // Behind the start of a call no piece of a tag is text.
      this.tag = '';
      if (this.state !== 'over') this.endCall();
    }
    if (this.tag.length >= unmistakable) this.tag = '';
    const held = this.fence + this.tag;
    this.fence = this.tag = '';
    if (held !== '' || this.calls === 0) this.say(held);
  }

  /** Takes as many characters as go the same way as one piece; gives the position of the first that may not. */
  private takeRun(text: string, at: number): number {
    if (this.tag !== '' || this.fence !== '') return at;
    let end = at;
    switch (this.state) {
      case 'text':
        while (end < text.length && isPlain(text, end)) end += 1;
        if (end > at) this.say(text.slice(at, end));
        return end;
      case 'inside':
        // The last character of the call is left to `step`.
        while (end < text.length && !this.scanner.ends(text[end]!) && !this.mayBeTag(text[end]!)) {
          this.scanner.step(text[end]!);
          end += 1;
        }
        break;
      case 'raw':
        while (end < text.length && !isTagStart(text[end]!)) end += 1;
        break;
      case 'over':
        return text.length;
      case 'before':
      case 'after':
        return at;
    }
    if (end > at) this.body += text.slice(at, end);
    return end;
  }

  private mayBeTag(character: string): boolean {
    return isTagStart(character) && !(this.state === 'inside' && this.scanner.inString);
  }

  private step(character: string): void {
    if (this.state === 'over') return;
    if (this.tag !== '' || this.mayBeTag(character)) {
      if (beginsTag(this.tag + character)) return this.stepTag(character);
      if (this.tag !== '') {
        const broken = this.tag;
        this.tag = '';
        // It was none; its first character is the only one that begins a tag.
        if (this.state === 'text') this.say(broken);
        else for (const each of broken) this.stepPlain(each);
        return this.step(character);
      }
    }
    this.stepPlain(character);
  }

  private stepTag(character: string): void {
    this.tag += character;
    const kind = tagKind(this.tag);
    if (kind === undefined) return;
    this.tag = '';
    this.takeTag(kind);
  }

  private takeTag(kind: TagKind): void {
    if (this.state === 'text') {
      if (!isFence(this.fence)) this.sayFence();
      else if (kind === 'open') this.fenceIsOpen = true;
      this.fence = '';
    }
    if (this.state === 'before' && kind === 'close') this.state = 'raw';
    if (this.state === 'inside' || this.state === 'raw') this.pending = this.body;
    this.endCall();
    if (kind === 'open') this.state = 'before';
    else if (kind === 'result' && this.calls > 0) this.state = 'over';
  }

  private stepPlain(character: string): void {
    switch (this.state) {
      case 'text':
        return this.stepText(character);
      case 'before':
        return this.stepBefore(character);
      case 'inside':
        this.body += character;
        if (!this.scanner.step(character)) return;
        this.pending = this.body;
        this.body = '';
        this.state = 'after';
        return;
      case 'raw':
        this.body += character;
        return;
      case 'after':
        return this.stepAfter(character);
      case 'over':
        return;
    }
  }

  private stepText(character: string): void {
    if ((this.fence !== '' || character === '`') && beginsFence(this.fence + character)) {
      this.fence += character;
      if (this.fenceIsOpen && this.fence === '```') {
        this.fence = '';
        this.fenceIsOpen = false;
      }
    } else if (this.fence !== '') {
      this.sayFence();
      this.stepText(character);
    } else if (isSpace(character) && this.space.length < maxHeldSpace) {
      if (!this.spaceIsKept) this.space += character;
    } else this.say(character);
  }

  private stepBefore(character: string): void {
    if (character === '{' || character === '[') {
      this.state = 'inside';
      this.scanner = new JsonScanner();
      this.body = this.fence = '';
      this.stepPlain(character);
    } else if (isSpace(character) && this.fence === '') return;
    else if (beginsFence(this.fence + character)) this.fence += character;
    else {
      this.state = 'raw';
      this.body = this.fence + character;
      this.fence = '';
    }
  }

  private stepAfter(character: string): void {
    if (character === '{') {
      this.endCall();
      this.state = 'before';
      this.stepPlain(character);
    } else if (!isSpace(character) && !'`}];,'.includes(character)) {
      this.endCall();
      this.stepPlain(character);
    }
  }

  /** Reads the call that is whole; the state is `text` then. */
  private endCall(): void {
    if (this.state === 'text') return;
    const { pending } = this;
    delete this.pending;
    this.body = this.fence = '';
    this.state = 'text';
    if (pending === undefined) return;
    this.spaceIsKept = this.space !== '';
    for (const call of readCalls(pending)) {
      if (this.calls === maxCalls) throw tooLarge(`more than ${maxCalls} tool calls`);
      this.calls += 1;
      this.sink.call(call);
    }
  }

  /** At the end: a call whose JSON never closed is broken; what stands behind its end tag is looked at again. */
  private endBody(): string | undefined {
    if (this.state !== 'inside' && this.state !== 'raw') return undefined;
    const end = this.state === 'inside' ? this.body.indexOf(callClose) : -1;
    this.pending = end === -1 ? this.body + this.tag : this.body.slice(0, end);
    const rest = end === -1 ? undefined : this.body.slice(end + callClose.length) + this.tag;
    this.tag = '';
    this.endCall();
    return rest;
  }

  private sayFence(): void {
    if (this.fence !== '') this.say('');
  }

  /** What was held as a possible tag was text, and so is this. */
  private say(text: string): void {
    // What stands between a call and the first text belongs to neither.
    const space = this.said || this.calls === 0 ? this.space : '';
    const all = space + this.fence + text;
    this.space = this.fence = '';
    this.spaceIsKept = false;
    if (all === '') return;
    this.said = true;
    this.sink.text(all);
  }
}

const isTagStart = (character: string) => character === '<' || character === '[';
/** Text that nothing is held back of: what follows shows that it begins no tag. */
function isPlain(text: string, at: number): boolean {
  const character = text[at]!;
  if (!isTagStart(character)) return character !== '`' && !isSpace(character);
  return at + 1 < text.length && !beginsTag(character + text[at + 1]!);
}

const tooLarge = (what: string) => new AppError('model_bad_response', `The answer of the model has ${what}`);
