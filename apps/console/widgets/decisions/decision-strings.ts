import { defineStrings } from '../../i18n/define-strings.js';

export const decisionStrings = defineStrings({
  en: {
    approve: 'Approve',
    deny: 'Deny',
    edit: 'Edit',
    answer: 'Answer',
    decline: 'Decline',
    reason: 'Reason',
    reasonHint: 'The caller and the model read it. It may be left empty.',
    editedArguments: 'Edited arguments',
    answerForm: 'Answer to the question',
    changes: 'Changes',
    unchanged: 'Nothing is changed.',
    whole: 'The whole value',
  },
  zh: {
    approve: '批准',
    deny: '拒绝',
    edit: '编辑',
    answer: '回答',
    decline: '不回答',
    reason: '理由',
    reasonHint: '调用方和模型会看到此理由，可以留空。',
    editedArguments: '编辑后的参数',
    answerForm: '回答问题',
    changes: '改动',
    unchanged: '没有改动。',
    whole: '整个值',
  },
});
