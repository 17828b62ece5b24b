// Separates text and function calls in an answer, character by character. Text is passed on at once; only what may become
// a tag is held. Time and memory are linear in the answer.
import { AppError } from '#libs/schemas/errors.js';
import { beginsFence, beginsTag, callClose, isFence, tagKind, type TagKind } from './function-tags.js';
import { JsonScanner } from './json-scanner.js';
import { isSpace } from './lenient-json.js';
import { readCalls, type ReadCall } from './read-calls.js';

export interface CallSink {
  text(text: string): void;
  call(call: ReadCall): void;
}

export const maxCallChars = 2 * 1024 * 1024;
export const maxCalls = 256;
const maxHeldSpace = 256;
/** How often the text after the end tag of an unclosed call is read again. */
const maxRereads = 8;
/** An unfinished tag of this length is never passed on as text. */
const unmistakable = 6;

/**
 * `text`: outside a call. `before`: after a start tag. `inside`: in the JSON of a call. `raw`: in a call that is not JSON.
 * `after`: the JSON is complete, its end tag may follow. `over`: the model has invented a result; the rest is ignored.
 */
type State = 'text' | 'before' | 'inside' | 'raw' | 'after' | 'over';

export class CallParser {
  examined = 0;
  calls = 0;
  private state: State = 'text';
  private scanner = new JsonScanner();
  /** White space that is passed on with the next text, or dropped before a call. */
  private space = '';
  private fence = '';
  private tag = '';
  private body = '';
  /** A complete call, until its end tag or other text follows. */
  private pending?: string;
  /** A call started inside a code fence that has not ended. */
  private fenceIsOpen = false;
  private spaceIsKept = false;
  private said = false;

  constructor(private readonly sink: CallSink) {}

  get heldChars(): number {
    return this.space.length + this.fence.length + this.tag.length + this.body.length + (this.pending?.length ?? 0);
  }

  /** @throws AppError model_bad_response above a bound */
  feed(text: string): void {
    for (let at = 0; at < text.length;) {
      const end = this.takePlain(text, at);
      if (end < text.length) this.step(text[end]!);
      this.examined += end + 1 - at;
      at = end + 1;
    }
    if (this.body.length > maxCallChars) throw tooLarge(`a tool call of more than ${maxCallChars} characters`);
  }

  /** The answer has ended. If it was `cut`, an unfinished call never ends. */
  finish(cut: boolean): void {
    for (let reads = cut ? maxRereads : 0; reads < maxRereads; reads += 1) {
      const rest = this.endBody();
      if (rest === undefined) break;
      this.feed(rest);
    }
    if (this.state !== 'text') {
      if (cut) delete this.pending;
      if (cut) this.space = '';
      // After the start of a call, an unfinished tag is not text.
      this.tag = '';
      if (this.state !== 'over') this.endCall();
    }
    if (this.tag.length >= unmistakable) this.tag = '';
    const held = this.fence + this.tag;
    this.fence = this.tag = '';
    if (held !== '' || this.calls === 0) this.say(held);
  }

  /** Takes the characters that need no state change. Returns the position after them. */
  private takePlain(text: string, at: number): number {
    if (this.tag !== '' || this.fence !== '') return at;
    let end = at;
    switch (this.state) {
      case 'text':
        while (end < text.length && isPlain(text, end)) end += 1;
        if (end > at) this.say(text.slice(at, end));
        return end;
      case 'inside':
        // `step` handles the last character of the call.
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
        // The text was no tag, and a tag cannot start inside it: see function-tags.ts.
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

  /** Reads the complete call, if any, and returns to `text`. */
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

  /** At the end of the answer: ends an unclosed call as broken. Returns the text after its end tag, to be read again. */
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

  private say(text: string): void {
    // White space between a call and the first text is dropped.
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
/** Whether the character can be passed on: it cannot start a tag or a fence, and is not white space. */
function isPlain(text: string, at: number): boolean {
  const character = text[at]!;
  if (!isTagStart(character)) return character !== '`' && !isSpace(character);
  return at + 1 < text.length && !beginsTag(character + text[at + 1]!);
}

const tooLarge = (what: string) => new AppError('model_bad_response', `The model answered with ${what}`);
