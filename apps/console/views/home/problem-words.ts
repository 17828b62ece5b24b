// What is wrong, in the language of the page, and the view that shows it. A problem of a newer gateway has the gateway's sentence.
import type { Problem } from '@signalbox/client';
import type { Formats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import type { homeStrings } from './strings.js';

type Texts = (typeof homeStrings)['en'];

export interface ShownProblem {
  sentence: string;
  /** What the gateway or the tool server said itself. */
  reason?: string;
  /** The address of the view that shows it. */
  to?: string;
  search?: Record<string, string>;
}

export function describeProblem(problem: Problem, texts: Texts, formats: Formats): ShownProblem {
  const facts = problem as Problem & Record<string, unknown>;
  const fact = (name: string) => (typeof facts[name] === 'string' ? visibleText(facts[name]) : '');
  const figure = (name: string) => (typeof facts[name] === 'number' ? facts[name] : 0);
  const reason = fact('reason') === '' ? {} : { reason: fact('reason') };
  switch (problem.code) {
    case 'no_workers':
      return { sentence: texts.no_workers, to: '/tools' };
    case 'worker_gone':
      return { sentence: texts.worker_gone(fact('worker'), formats.duration(figure('seen_ms_ago'))), to: '/tools' };
    case 'server_refused':
    case 'server_unavailable':
      return {
        sentence: texts[problem.code](fact('server')),
        ...reason,
        to: '/tools',
        search: { server: fact('server') },
      };
    case 'audit_disabled':
    case 'audit_broken':
      return { sentence: texts[problem.code], to: '/audit' };
    case 'check_failed':
      return { sentence: texts.check_failed(fact('check')), ...reason, to: '/settings' };
    case 'budget_near_end':
      return {
        sentence: texts.budget_near_end(formats.percent(figure('share')), fact('principal')),
        to: '/usage',
        search: { by: 'key' },
      };
    case 'budget_used_up':
      return { sentence: texts.budget_used_up(fact('principal')), to: '/usage', search: { by: 'key' } };
    default:
      return { sentence: visibleText(problem.message) };
  }
}
