// Descriptions of the routes of the policy.
import { z } from 'zod';
import { type DescribedOperation, json, pageLimit, sse } from './described-operation.js';
import {
  draftedRule,
  draftRequest,
  explainRequest,
  policyExplanation,
  policyInForce,
  simulateRequest,
  unusedRights,
} from './policy-shapes.js';

const text = z.string();

export const policyOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/policy': {
    summary: 'The rules in force in their order, and how often each decided in the last 7 days; for administrators',
    answers: { 200: json(policyInForce) },
  },
  'POST /api/policy/explain': {
    summary: 'What the policy says of a call, and why. Without the scope admin: of a call of the caller itself',
    body: explainRequest,
    answers: { 200: json(policyExplanation) },
  },
  'POST /api/policy/simulate': {
    summary: 'What a draft of the policy would have done to past calls, as events; for administrators',
    description: 'Closing the connection ends the simulation. An invalid draft is 400, with `problems`.',
    body: simulateRequest,
    answers: { 200: sse('SimulationEvent') },
  },
  'POST /api/policy/draft': {
    summary:
      'The policy in force with the narrowest rule that allows a call that needed an approval; changes nothing; for administrators',
    body: draftRequest,
    answers: { 200: json(draftedRule) },
  },
  'GET /api/policy/unused': {
    summary: 'What keys and rules allow that no call used; for administrators',
    query: {
      days: z.int().min(1).max(365).default(30),
      limit: pageLimit(100, 50),
      after: text.describe('`key_id` of the last key of the previous page'),
    },
    answers: { 200: json(unusedRights) },
  },
};
