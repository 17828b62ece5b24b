// The conversations of whoever uses the page, and the one that its address names.
import { useEffect, useState } from 'react';
import { useExternal } from '../../../api/external-value.js';
import { useMe } from '../../../api/me.js';
import type { ChatConversation } from '../conversation/conversation.js';
import { type Chats, chatsOf } from './chats.js';
import type { OpenChat } from './open-chat.js';

/** Undefined until it is known who asks. */
export function useChats(): Chats | undefined {
  const principal = useMe()?.principal ?? undefined;
  return principal === undefined ? undefined : chatsOf(principal);
}

export function useOpenChat(chats: Chats, id: string): OpenChat | undefined {
  const [opened, setOpened] = useState<{ chats: Chats; id: string; chat: OpenChat }>();
  useEffect(() => {
    let isLeft = false;
    void chats.get(id).then((chat) => isLeft || setOpened({ chats, id, chat }));
    return () => {
      isLeft = true;
    };
  }, [chats, id]);
  return opened?.chats === chats && opened.id === id ? opened.chat : undefined;
}

export const useConversation = (chat: OpenChat): ChatConversation => useExternal(chat.value);
