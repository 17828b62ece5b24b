export const replayRequirements = {
  'replay.calls-no-tool': 'a replay is a stored run that calls no tool, queues no job, and asks nobody',
  'replay.changed': 'a replay takes another model and other messages, checked as those of a chat',
  'replay.drafted': 'a draft of the policy judges the calls of a replay; every mistake in it is named',
  'replay.every-run': 'whatever a run was, it is replayed, or refused with its reason',
  'replay.of-others':
    "another principal's run does not exist for a replay; an administrator's replay is the administrator's",
  'replay.counted': 'the models of a replay are paid and limited as those of a chat; its calls count as no tool calls',
  'replay.stops': 'a replay is cancelled as any run, and ends as interrupted with its gateway',
  'console.replay':
    'Run replays a run: with another model, other messages or a draft of the policy, and leads to the new run',
  'console.compare':
    'two runs are compared part by part, from Runs, from Run, or from files; the first difference is marked and jumped to',
} as const;
