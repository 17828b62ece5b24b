// What the view of a turn and its parts are given.
import type { TurnNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import type { BranchPlace } from './branches.js';

export interface TurnViewProps {
  turn: TurnNode;
  branches: BranchPlace;
  chat: OpenChat;
  isLast: boolean;
}
