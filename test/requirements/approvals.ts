export const approvalRequirements = {
  'approvals.returned':
    'a caller that is not held gets one call of approval_request for each call that waits, and its answer decides; calls of the round that are allowed run at once',
  'approvals.undecided':
    'an answer that is no decision decides nothing: the request comes back three times, then the turn is refused',
  'approvals.stored-call': 'what runs is what was stored, never what a caller sends back',
  'approvals.edited': 'an approver may edit the arguments: they are checked as the model’s are, and are what runs',
  'approvals.once': 'of several decisions the first counts, the others are refused',
  'approvals.owner': 'an approval of another principal does not exist, but for those who may decide for others',
  'approvals.held':
    'a held stream shows the approval, stays open, and goes on when somebody has decided, on any gateway',
  'approvals.waiting-run': 'a run with a call that waits for a decision is shown as waiting',
  'approvals.left': 'an approval whose caller has gone is cancelled with its call',
  'approvals.expired': 'a call that nobody decided about in time is denied, and the model gets the denial',
  'approvals.restarts': 'a parked call, its approval and the decision outlive every process',
  'approvals.alone':
    'a detached run whose gateway died goes on by itself once its calls are decided or have expired, in whatever order that happens',
  'approvals.doomed': 'nobody can decide about a call whose run broke off and cannot be continued',
  'approvals.tools-api':
    'a call of the tools API that needs an approval answers 202; the same request again runs it once it is approved, once',
  'approvals.tools-api-alone':
    'a call of the tools API with a key runs when it is approved, once, whether its caller asks again or not',
  'approvals.refused':
    'an approved call of the tools API that finds no place runs when it is asked for again, without another approval',
  'approvals.unused':
    'an approved call of a turn that finds no place is not run; the next call like it in the session runs without another approval, once',
  'waits.once':
    'whatever a call waits for, the first end of the wait counts: one row of the audit, and a parked call that may not run ends with it',
  'waits.lapsed':
    'a wait that nobody ends in time, or whose call has ended, is ended; its parked call is denied, a running call goes on',
  'waits.woken': 'whoever waits learns of the end of the wait, also when its announcement was lost',
  'waits.clock': 'the tool’s time stands still during every wait, the turn’s while people are waited for',
  'approvals.webhook': 'a webhook is notified of each call that waits, signed, and again after a failure',
  'approvals.audited': 'the audit names who asked and who decided, for the decision and for the call',
  'approvals.tightened': 'a request may ask for approvals that the policy does not ask for',
} as const;
