// The health checks of the gateway in words. A check of a newer gateway is shown by its own name.
import type { Language } from '../../i18n/language.js';

export const checkWords: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  store: { en: 'Database', zh: '数据库' },
  queue: { en: 'Queue', zh: '队列' },
  workers: { en: 'Workers', zh: '工作进程' },
  servers: { en: 'Tool servers', zh: '工具服务器' },
  models: { en: 'Models', zh: '模型' },
  isolation: { en: 'Isolation', zh: '隔离' },
  workspaces: { en: 'Workspaces', zh: '工作区' },
  'shared workspaces': { en: 'Shared workspaces', zh: '共享工作区' },
  configuration: { en: 'Configuration', zh: '配置' },
};
