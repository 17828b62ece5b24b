// One conversation that is open in this page: what a person does to it, and the turn that runs.
import { api } from '../../../api/api.js';
import { ExternalValue } from '../../../api/external-value.js';
import { noAnswer, openClientCalls, withCall } from '../conversation/answer.js';
import {
  type AskedNode,
  type ChatConversation,
  type ChatNode,
  choosing,
  joining,
  newId,
  runningTurn,
  shownPath,
  type TurnNode,
  type TurnOptions,
  withNode,
} from '../conversation/conversation.js';
import { RunningTurn } from './running-turn.js';

const saveEveryMs = 1_000;

export class OpenChat {
  readonly value: ExternalValue<ChatConversation>;
  /** The events of the last turn that was followed in this page. */
  readonly running = new ExternalValue<RunningTurn | undefined>(undefined);
  private saving: ReturnType<typeof setTimeout> | undefined;

  constructor(
    conversation: ChatConversation,
    private readonly save: (conversation: ChatConversation) => Promise<void>,
  ) {
    this.value = new ExternalValue(conversation);
    const running = runningTurn(conversation);
    if (running !== undefined) this.follow(running, 'joined');
  }

  get conversation(): ChatConversation {
    return this.value.get();
  }

  setOptions(options: TurnOptions): void {
    // What is chosen in a conversation without messages is kept with its first one.
    this.change({ ...this.conversation, options }, Object.keys(this.conversation.nodes).length > 0);
  }

  rename(name: string): void {
    this.change({ ...this.conversation, name: name.trim() });
  }

  choose(node: ChatNode): void {
    this.change(choosing(this.conversation, node));
  }

  send(text: string, { files = [], offers }: Partial<Pick<AskedNode, 'files' | 'offers'>> = {}): void {
    this.ask({ text, files, ...(offers && { offers }), parent: shownPath(this.conversation).at(-1)?.id });
  }

  /** Asks the message with another text, in a branch of its own. */
  edit({ parent, files, offers }: AskedNode, text: string): void {
    this.ask({ text, files, ...(offers && { offers }), parent });
  }

  /** Another answer, in a branch of its own, with what is chosen now. */
  askAgain({ parent }: TurnNode): void {
    this.begin(parent);
  }

  /** Goes on with a turn that failed: what has run is not repeated. */
  retry(turn: TurnNode): void {
    if (turn.error?.mayContinue !== true) this.askAgain(turn);
    else this.follow({ ...turn, state: 'running', error: undefined }, 'again');
  }

  stop(): void {
    this.running.get()?.stop();
  }

  /** The result of a call that the person of the page runs. The turn goes on when all are given. */
  giveResult({ id }: TurnNode, callId: string, given: string): void {
    const turn = this.conversation.nodes[id];
    if (turn?.kind !== 'turn') return;
    const answer = withCall(turn.answer, callId, (call) => ({ ...call, given, status: 'ended' }));
    this.change(withNode(this.conversation, { ...turn, answer }));
    if (openClientCalls(answer).length === 0) this.begin(id);
  }

  /** Another tab has kept the conversation. What that tab did not know is kept again, with what it has added. */
  join(kept: ChatConversation): void {
    const joined = joining(this.conversation, kept);
    const hasMore = Object.keys(joined.nodes).some((id) => kept.nodes[id] === undefined);
    if (joined !== this.conversation) this.change(joined, hasMore);
  }

  /** Ends what runs in this page for it. */
  close(): void {
    clearTimeout(this.saving);
    this.saving = undefined;
    this.running.get()?.stop();
    this.running.set(undefined);
  }

  private ask(message: Pick<AskedNode, 'text' | 'files' | 'offers' | 'parent'>): void {
    if (runningTurn(this.conversation) !== undefined) return;
    const asked: AskedNode = { kind: 'asked', id: newId('m_'), ...message, at: Date.now() };
    this.change(withNode(this.conversation, asked));
    this.begin(asked.id);
  }

  private begin(parent: string): void {
    if (runningTurn(this.conversation) !== undefined) return;
    const { options } = this.conversation;
    const key = newId('console-');
    const turn: TurnNode = {
      kind: 'turn',
      id: newId('t_'),
      parent,
      at: Date.now(),
      state: 'running',
      answer: noAnswer,
      options,
      key,
    };
    this.follow(turn, 'new');
  }

  private follow(turn: TurnNode, how: 'new' | 'joined' | 'again'): void {
    this.change(withNode(this.conversation, turn));
    const following = new RunningTurn({
      api,
      turn,
      conversation: this.conversation,
      changed: (next) => this.change(withNode(this.conversation, next), true, next.state === 'running'),
    });
    this.running.set(following);
    void following.follow(how);
  }

  private change(conversation: ChatConversation, isKept = true, isEarly = false): void {
    this.value.set(conversation);
    if (!isKept) return;
    const save = () => {
      this.saving = undefined;
      void this.save(this.conversation);
    };
    if (isEarly) this.saving ??= setTimeout(save, saveEveryMs);
    else {
      clearTimeout(this.saving);
      save();
    }
  }
}
