import { defineStrings } from '../../i18n/define-strings.js';

export const appStrings = defineStrings({
  en: {
    show: 'Show app',
    hide: 'Hide app',
    app: (name: string) => `App of ${name}`,
    asksLink: 'The app wants to open this address in a new tab:',
    open: 'Open',
    refuse: 'Do not open',
  },
  zh: {
    show: '显示应用',
    hide: '隐藏应用',
    app: (name) => `${name} 的应用`,
    asksLink: '应用想在新标签页中打开此地址：',
    open: '打开',
    refuse: '不打开',
  },
});
