export const consoleChatRequirements = {
  'console.apps':
    'the app of a call is shown in its card: it gets the call, calls tools of its server, and opens links that the person allows',
  'console.apps-confined':
    'an app reaches neither the page around it nor its key, no API, no tool of another server, and no address that it does not name',
  'console.chat.asks':
    'what a call waits for is decided in its card: approve, deny, edit, the answer to a question, a result',
  'console.chat.branches': 'an edited message and another answer are branches of a conversation, and both stay',
  'console.chat.habits':
    'a chat does what people are used to: files are dropped and pasted, an input method keeps its Enter, two tabs lose nothing, and a full browser says so',
  'console.chat.hostile': 'a hostile answer, tool result or file name is shown harmlessly in a chat',
  'console.chat.kept':
    'conversations and drafts stay in the browser, each principal sees their own, and files carry them on',
  'console.chat.request':
    'a chat is asked with the chosen model, tools and system prompt, and can be copied without a key',
  'console.chat.resumes': 'a turn that streams goes on after its gateway came back, and after a reload of the page',
  'console.chat.stops': 'Stop ends a turn, what failed can be tried again, and nothing that was typed is lost',
  'console.chat.streams': 'an answer is shown while it is written: reasoning folded, markdown, code, tables',
  'console.chat.tour': 'on a fresh gateway three buttons show how tools write, read and ask, without a key or a model',
} as const;
