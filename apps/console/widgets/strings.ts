import { defineStrings } from '../i18n/define-strings.js';

export const widgetStrings = defineStrings({
  en: {
    loading: 'Loading…',
    failed: 'This could not be loaded',
    retry: 'Try again',
    requestId: 'Request',
    code: 'Code',
  },
  zh: {
    loading: '加载中…',
    failed: '加载失败',
    retry: '重试',
    requestId: '请求',
    code: '代码',
  },
});
