// The states of the API in words.
export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad';

export interface StateWord {
  en: string;
  zh: string;
  tone: Tone;
}

export const stateWords: Readonly<Record<string, StateWord>> = {
  running: { en: 'running', zh: '运行中', tone: 'accent' },
  waiting: { en: 'waiting', zh: '等待中', tone: 'warn' },
  done: { en: 'done', zh: '已完成', tone: 'good' },
  failed: { en: 'failed', zh: '失败', tone: 'bad' },
  cancelled: { en: 'cancelled', zh: '已取消', tone: 'neutral' },
  interrupted: { en: 'interrupted', zh: '已中断', tone: 'warn' },
  planned: { en: 'planned', zh: '已计划', tone: 'neutral' },
  queued: { en: 'queued', zh: '排队中', tone: 'neutral' },
  parked: { en: 'waits for a person', zh: '等待人工', tone: 'warn' },
  dispatched: { en: 'running', zh: '运行中', tone: 'accent' },
  completed: { en: 'done', zh: '已完成', tone: 'good' },
  denied: { en: 'denied', zh: '已拒绝', tone: 'bad' },
  approved: { en: 'approved', zh: '已批准', tone: 'good' },
  signed_in: { en: 'signed in', zh: '已登录', tone: 'good' },
  expired: { en: 'expired', zh: '已过期', tone: 'neutral' },
  indeterminate: { en: 'outcome unknown', zh: '结果未知', tone: 'warn' },
  ready: { en: 'ready', zh: '就绪', tone: 'good' },
  started: { en: 'started', zh: '已开始', tone: 'neutral' },
  starting: { en: 'starting', zh: '启动中', tone: 'accent' },
  draining: { en: 'draining', zh: '排空中', tone: 'warn' },
  gone: { en: 'gone', zh: '已消失', tone: 'bad' },
  refused: { en: 'refused', zh: '被拒绝', tone: 'bad' },
  unavailable: { en: 'unavailable', zh: '不可用', tone: 'bad' },
  needs_sign_in: { en: 'needs a sign-in', zh: '需要登录', tone: 'warn' },
};

/** The state of something that a call waits for: a sign-in is not approved by anybody. */
export const stateOfWait = ({ kind, state }: { kind: string; state: string }): string =>
  kind === 'sign_in' && state === 'approved' ? 'signed_in' : state;
