import { defineStrings } from '../../../i18n/define-strings.js';

export const replayStrings = defineStrings({
  en: {
    replay: 'Replay',
    heading: 'Replay this run',
    about:
      'The model is asked again. No tool is called: each call gets the result that was recorded for it. The tokens are paid as those of a chat.',
    model: 'Model',
    sameModel: (name: string) => `The same: ${name}`,
    lastMessage: 'Last message of the user',
    allMessages: 'All messages as JSON',
    editAll: 'Edit all messages as JSON',
    editLast: 'Edit the last message only',
    draft: 'Try a draft of the policy',
    policy: 'Policy draft',
    policyAbout:
      'The text of a policy file, YAML or JSON. What it denies is refused; what needs an approval is shown so, and goes on.',
    notMessages: 'A conversation is a list with at least one message.',
    cancel: 'Cancel',
  },
  zh: {
    replay: '重放',
    heading: '重放此运行',
    about: '会再次询问模型，但不会调用任何工具：每个调用都得到当时记录的结果。Token 费用与对话相同。',
    model: '模型',
    sameModel: (name) => `同一模型：${name}`,
    lastMessage: '用户的最后一条消息',
    allMessages: '全部消息（JSON）',
    editAll: '以 JSON 编辑全部消息',
    editLast: '只编辑最后一条消息',
    draft: '试用策略草案',
    policy: '策略草案',
    policyAbout: '策略文件的内容，YAML 或 JSON。被它拒绝的调用会被拒绝；需要审批的调用会标出，并继续进行。',
    notMessages: '对话必须是至少含一条消息的列表。',
    cancel: '取消',
  },
});
