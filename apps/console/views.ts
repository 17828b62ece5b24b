// The table of views: add an entry here and a file `views/ROOM/NAME-view.tsx` whose default export is the component. An entry
// without a file is in no address and no navigation.
import { type ComponentType, lazy } from 'react';
import type { Scope } from './api/me.js';
import type { IconName } from './frame/icon.js';

export interface View {
  name: string;
  /** The folder below `views`. */
  room: string;
  /** Below /console; `$id` is a part of the address, `{-$id}` one that may be missing. */
  path: string;
  /** What a key needs to see the view; absent: any key. */
  scope?: Scope;
  title: { en: string; zh: string };
  /** Absent: the view is in no navigation, it is reached from another one of its room. */
  navigation?: { icon: IconName; group: 'work' | 'control' | 'system' };
}

const table: readonly View[] = [
  {
    name: 'home',
    room: 'home',
    path: '/',
    title: { en: 'Home', zh: '首页' },
    navigation: { icon: 'home', group: 'work' },
  },
  {
    name: 'chat',
    room: 'chat',
    path: '/chat/{-$session}',
    scope: 'chat',
    title: { en: 'Chat', zh: '对话' },
    navigation: { icon: 'chat', group: 'work' },
  },
  {
    name: 'runs',
    room: 'runs',
    path: '/runs',
    scope: 'chat',
    title: { en: 'Runs', zh: '运行' },
    navigation: { icon: 'runs', group: 'work' },
  },
  {
    name: 'compare',
    room: 'runs',
    path: '/runs/compare',
    scope: 'chat',
    title: { en: 'Compare runs', zh: '比较运行' },
  },
  { name: 'run', room: 'runs', path: '/runs/$id', scope: 'chat', title: { en: 'Run', zh: '运行详情' } },
  {
    name: 'approvals',
    room: 'approvals',
    path: '/approvals/{-$id}',
    title: { en: 'Approvals', zh: '审批' },
    navigation: { icon: 'approvals', group: 'work' },
  },
  {
    name: 'tools',
    room: 'tools',
    path: '/tools',
    scope: 'tools',
    title: { en: 'Tools', zh: '工具' },
    navigation: { icon: 'tools', group: 'work' },
  },
  {
    name: 'connections',
    room: 'connections',
    path: '/connections',
    scope: 'tools',
    title: { en: 'Connections', zh: '连接' },
    navigation: { icon: 'connections', group: 'work' },
  },
  {
    name: 'sessions',
    room: 'sessions',
    path: '/sessions/{-$id}',
    scope: 'chat',
    title: { en: 'Sessions', zh: '会话' },
    navigation: { icon: 'sessions', group: 'work' },
  },
  {
    name: 'policy',
    room: 'policy',
    path: '/policy',
    title: { en: 'Policy', zh: '策略' },
    navigation: { icon: 'policy', group: 'control' },
  },
  {
    name: 'keys',
    room: 'keys',
    path: '/keys',
    scope: 'admin',
    title: { en: 'Keys', zh: '密钥' },
    navigation: { icon: 'keys', group: 'control' },
  },
  {
    name: 'usage',
    room: 'usage',
    path: '/usage',
    title: { en: 'Usage', zh: '用量' },
    navigation: { icon: 'usage', group: 'control' },
  },
  {
    name: 'audit',
    room: 'audit',
    path: '/audit',
    scope: 'admin',
    title: { en: 'Audit', zh: '审计' },
    navigation: { icon: 'audit', group: 'control' },
  },
  {
    name: 'models',
    room: 'models',
    path: '/models',
    scope: 'admin',
    title: { en: 'Models', zh: '模型' },
    navigation: { icon: 'models', group: 'system' },
  },
  {
    name: 'settings',
    room: 'settings',
    path: '/settings',
    scope: 'admin',
    title: { en: 'Settings', zh: '设置' },
    navigation: { icon: 'settings', group: 'system' },
  },
];

type ViewModule = { default: ComponentType };
const files = import.meta.glob<ViewModule>('./views/*/*-view.tsx');

export interface BuiltView extends View {
  /** Loads the code of the view. Never rejects: a view without its code says so when it is shown. */
  load: () => Promise<void> | undefined;
  /** The component, if its code is loaded; else one that loads it, at which React shows a fallback for 300 ms at least. */
  component: () => ComponentType;
}

export const builtViews: readonly BuiltView[] = table.flatMap((view) => {
  const file = files[`./views/${view.room}/${view.name}-view.tsx`];
  if (file === undefined) return [];
  let loaded: ComponentType | undefined;
  const Late = lazy(file);
  const keep = (module: ViewModule) => void (loaded = module.default);
  const load = () => (loaded === undefined ? file().then(keep, () => undefined) : undefined);
  return [{ ...view, load, component: () => loaded ?? Late }];
});

/** Where the navigation leads: the address without the parts that may be missing. */
export const addressOf = ({ path }: View): string => path.replace(/\/\{-.*$/, '');
