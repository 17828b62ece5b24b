import { defineStrings } from '../../i18n/define-strings.js';

export const homeStrings = defineStrings({
  en: { title: 'Home', welcome: 'This gateway is up.' },
  zh: { title: '首页', welcome: '网关正在运行。' },
});
