// The texts of the pages of a sign-in, in English and Chinese.
export type PageLanguage = 'en' | 'zh';

export interface PageWords {
  server: string;
  principal: string;
  account: string;
  code: string;
  request: string;
  back: string;
  toConsole: string;
  close: string;
  notYou: string;
  openHeading: (server: string) => string;
  openText: string;
  openAction: string;
  confirmHeading: (server: string) => string;
  confirmText: string;
  confirmAction: string;
  doneHeading: (server: string) => string;
  doneText: string;
  overHeading: string;
  overText: string;
  deniedHeading: string;
  deniedText: string;
  refusedHeading: string;
  refusedText: string;
  foreignHeading: string;
  foreignText: string;
  awayHeading: string;
  awayText: string;
  busyHeading: string;
  busyText: string;
  invalidHeading: string;
  invalidText: string;
  failedHeading: string;
  failedText: string;
}

export const pageWords: Readonly<Record<PageLanguage, PageWords>> = {
  en: {
    server: 'Tool server',
    principal: 'For',
    account: 'Account',
    code: 'Code',
    request: 'Request',
    back: 'Back',
    toConsole: 'Connections in the console',
    close: 'You can close this page.',
    notYou: 'Is this not you, or did you not begin this? Close this page: nothing has happened.',
    openHeading: (server) => `Connect to ${server}?`,
    openText:
      'You will sign in there. From then on, tools that are called for the user below act with the rights of your account.',
    openAction: 'Continue to the sign-in',
    confirmHeading: (server) => `Connect to ${server}?`,
    confirmText:
      'This sign-in was opened in another browser. If you go on, tools that are called for the user below act with the rights of the account that you signed in with.',
    confirmAction: 'Connect',
    doneHeading: (server) => `Connected to ${server}`,
    doneText: 'Tools of this server now act with the rights of this account.',
    overHeading: 'This sign-in is over',
    overText: 'It was used, has expired, or never began. Begin it again where you came from.',
    deniedHeading: 'Not connected',
    deniedText: 'The sign-in was declined at the issuer. Nothing has changed.',
    refusedHeading: 'The issuer refused the sign-in',
    refusedText: 'Nothing has changed. Begin it again, or give the code to your operator.',
    foreignHeading: 'This answer is not from the right issuer',
    foreignText: 'It was thrown away, and nothing has changed. Begin the sign-in again.',
    awayHeading: 'The sign-in cannot go on at present',
    awayText: 'The server or its issuer cannot be used. Try again later, or give the code to your operator.',
    busyHeading: 'Too many attempts',
    busyText: 'Wait a minute, then begin again.',
    invalidHeading: 'This address is not complete',
    invalidText: 'Begin the sign-in again where you came from.',
    failedHeading: 'Something went wrong',
    failedText: 'Nothing has changed. Try again later, or give the code to your operator.',
  },
  zh: {
    server: '工具服务器',
    principal: '用户',
    account: '账号',
    code: '代码',
    request: '请求',
    back: '返回',
    toConsole: '控制台中的连接',
    close: '可以关闭此页面。',
    notYou: '不是您本人，或者不是您发起的？请关闭此页面：什么都没有发生。',
    openHeading: (server) => `连接到 ${server}？`,
    openText: '您将在那里登录。此后，为下述用户调用的工具将以您账号的权限执行操作。',
    openAction: '继续登录',
    confirmHeading: (server) => `连接到 ${server}？`,
    confirmText: '此登录是在另一个浏览器中打开的。如果继续，为下述用户调用的工具将以您所登录账号的权限执行操作。',
    confirmAction: '连接',
    doneHeading: (server) => `已连接到 ${server}`,
    doneText: '此服务器的工具现在以该账号的权限执行操作。',
    overHeading: '此登录已失效',
    overText: '它已被使用、已过期，或从未开始。请从原处重新开始。',
    deniedHeading: '未连接',
    deniedText: '您在签发方拒绝了登录。没有任何更改。',
    refusedHeading: '签发方拒绝了登录',
    refusedText: '没有任何更改。请重新开始，或将代码告知管理员。',
    foreignHeading: '此响应并非来自正确的签发方',
    foreignText: '响应已被丢弃，没有任何更改。请重新登录。',
    awayHeading: '登录暂时无法继续',
    awayText: '服务器或其签发方无法使用。请稍后重试，或将代码告知管理员。',
    busyHeading: '尝试次数过多',
    busyText: '请稍等一分钟再重新开始。',
    invalidHeading: '此地址不完整',
    invalidText: '请从原处重新开始登录。',
    failedHeading: '出现问题',
    failedText: '没有任何更改。请稍后重试，或将代码告知管理员。',
  },
};

/** The first of ours in Accept-Language; its weights come in falling order from every browser. */
export function pageLanguage(header: string | undefined): PageLanguage {
  return /(?:^|,)\s*(en|zh)\b/i.exec(header ?? '')?.[1]?.toLowerCase() === 'zh' ? 'zh' : 'en';
}
