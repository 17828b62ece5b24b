import { defineStrings } from '../../i18n/define-strings.js';

export const modelStrings = defineStrings({
  en: {
    title: 'Models',
    about: 'What requests may name as their model: the models of the providers, and aliases.',
    filter: 'Filter by name',
    name: 'Name',
    provider: 'Provider',
    none: 'No model has this name',
  },
  zh: {
    title: '模型',
    about: '请求中可以使用的模型名称：各提供方的模型，以及别名。',
    filter: '按名称筛选',
    name: '名称',
    provider: '提供方',
    none: '没有这个名称的模型',
  },
});
