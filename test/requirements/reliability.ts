export const reliabilityRequirements = {
  'audit.clamped':
    'arguments and results of any size take a bounded place in the audit',
  'audit.no-secret':
    'no secret that stands in arguments or results reaches the audit',
  'backing.away-answers-in-time':
    'a backing store that is refused or silent answers store_unavailable within its deadline',
  'backing.cache-bounded':
    'the cache stays within its rows and bytes, the oldest goes first',
  'backing.cache-expires':
    'a cached value is gone after its time',
  'backing.cache-shared':
    'what one process caches another reads',
  'backing.channel-ended':
    'an ended subscription hears nothing more and takes nothing from others',
  'backing.channel-every-subscriber':
    'a message reaches every subscriber of its channel in every process, and no other',
  'backing.channel-order':
    'messages of one publisher on one channel arrive in order, none twice',
  'backing.channel-reconnects':
    'subscriptions come back by themselves after a loss, and then say so',
  'backing.channel-size':
    'a channel carries what it promises in bytes of UTF-8 and refuses more',
  'backing.closes-clean':
    'closing leaves no connection and lets the process end',
  'backing.consumer-comes-back':
    'jobs are taken again by themselves after the store was away',
  'backing.counter-exact':
    'concurrent adds to a counter are all counted',
  'backing.counter-window':
    'a counter forgets itself a window after its first add',
  'backing.cut-loses-nothing':
    'cut connections lose no accepted job and repeat none without saying so',
  'backing.few-connections':
    'a process holds a bounded number of connections',
  'backing.job-counts':
    'the queue tells what waits, runs and failed, and the age of the oldest',
  'backing.job-delivered':
    'every added job is delivered, to one consumer',
  'backing.job-drain':
    'a draining consumer ends what it has and takes no more',
  'backing.job-forget-worker':
    'a dead worker’s queue can be removed with its jobs',
  'backing.job-once':
    'a job is added once an id, also while it is kept after its end',
  'backing.job-order':
    'interactive jobs come before batch jobs, else in order',
  'backing.job-outcome-survives':
    'a job that ended while the store was away is acknowledged when it is back',
  'backing.job-put-back':
    'a job that this worker does not know goes back to the queue',
  'backing.job-redelivered':
    'a job whose worker died or lost its lock is delivered again within 15 s, and says so',
  'backing.job-remove':
    'only a waiting job can be taken out',
  'backing.job-worker-queue':
    'a job for one worker is delivered to that worker alone',
  'backing.opens-at-once':
    'several processes may open an empty store at once',
  'backing.places-exact':
    'no more places are held than there are',
  'backing.places-expire':
    'a place whose holder died is free again after its time',
  'journal.audit-with-the-end':
    'the terminal state of a call and its audit row are written together or not at all',
  'journal.cancel-planned':
    'calls that have not begun can be cancelled, ones that have go on',
  'journal.claimed-once':
    'of any number of workers one gets a call',
  'journal.one-terminal-state':
    'a call ends in exactly one recorded outcome with exactly one audit row',
  'journal.stale-fence-refused':
    'an outcome under any other than the last claim is refused',
  'migrations.applied-once':
    'several processes that start at once apply each migration once',
  'migrations.drift-refused':
    'a migration that was changed after it was applied stops the start and is named',
  'migrations.prisma-ledger':
    'applied migrations stand in Prisma’s own ledger',
  'processes.heartbeats':
    'processes are known as alive by heartbeats, timed by the database',
  'reaper.clears-what-is-old':
    'events, runs and calls go when their time is over, the audit stays',
  'reaper.dead-gateway':
    'the runs of a gateway that stopped are interrupted, their calls cancelled or finished, no round is added',
  'reaper.exactly-once': 'what a dead process left is taken up exactly once, whoever notices',
  'reaper.late-outcome-refused': 'a worker that was given up and goes on has no say any more',
  'reaper.missing-jobs': 'a planned call whose job is missing in the queue is added again',
  'reaper.watches-first': 'nobody is given up because the database or the observer was away',
  'reliability.lost-jobs-added-again': 'a planned call whose job the queue has lost is added again',
  'reliability.outcome-spool': 'outcomes that the store cannot take are spooled on disk and loaded once',
  'reliability.replies-may-be-lost': 'an outcome whose reply is lost is found in the journal',
  'reliability.safe-is-earned': 'only builtin, trusted or operator-marked tools count as safe to run again',
  'reliability.worker-drains': 'a worker that is told to stop ends what runs, then itself, with status 0',
  'reliability.worker-killed-safe': 'a safe call whose worker is killed runs again and succeeds once',
  'reliability.worker-killed-unsafe':
    'an unsafe call whose worker is killed has at most one effect, one terminal state and one audit row',
  'runs.adopted-once': 'an interrupted run goes on under exactly one gateway',
  'runs.ended-by-owner': 'a run is ended once, by the gateway that owns it',
  'runs.event-numbers-never-reused': 'the numbers of events are never used again, also after events were forgotten',
  'runs.events-resume': 'stored events can be read from any number on',
  'runs.idempotency-expires': 'an Idempotency-Key is free again after its life',
  'runs.idempotency-one-run': 'requests with one Idempotency-Key at once begin one run',
  'runs.mixed-turn-found': 'a client call leads its principal back to the whole turn',
  'runs.round-with-its-calls': 'a round and its calls are stored together, before anything runs',
  'sessions.delete-forgets-turns': 'a deleted session takes its turns along, not its audit',
  'sessions.not-taken-in-use': 'no session expires while a call of it is planned or runs',
  'sessions.one-directory': 'a session has one directory, whoever asks first',
  'store.any-string': 'any string that a model or tool sends is stored and comes back as it was',
  'reaper.exactly-once':
    'what a dead process left is taken up exactly once, whoever notices',
  'reaper.late-outcome-refused':
    'a worker that was given up and goes on has no say any more',
  'reaper.missing-jobs':
    'a planned call whose job is missing in the queue is added again',
  'reaper.watches-first':
    'nobody is given up because the database or the observer was away',
  'reliability.lost-jobs-added-again':
    'a planned call whose job the queue has lost is added again',
  'reliability.outcome-spool':
    'outcomes that the store cannot take are spooled on disk and loaded once',
  'reliability.replies-may-be-lost':
    'an outcome whose reply is lost is found in the journal',
  'reliability.safe-is-earned':
    'only builtin, trusted or operator-marked tools count as safe to run again',
  'runs.adopted-once':
    'an interrupted run goes on under exactly one gateway',
  'runs.ended-by-owner':
    'a run is ended once, by the gateway that owns it',
  'runs.event-numbers-never-reused':
    'the numbers of events are never used again, also after events were forgotten',
  'runs.events-resume':
    'stored events can be read from any number on',
  'runs.idempotency-expires':
    'an Idempotency-Key is free again after its life',
  'runs.idempotency-one-run':
    'requests with one Idempotency-Key at once begin one run',
  'runs.mixed-turn-found':
    'a client call leads its principal back to the whole turn',
  'runs.round-with-its-calls':
    'a round and its calls are stored together, before anything runs',
  'sessions.delete-forgets-turns':
    'a deleted session takes its turns along, not its audit',
  'sessions.not-taken-in-use':
    'no session expires while a call of it is planned or runs',
  'sessions.one-directory':
    'a session has one directory, whoever asks first',
  'store.any-string':
    'any string that a model or tool sends is stored and comes back as it was',
  'store.away-answers-in-time':
    'a store that is refused, silent, slow or closed answers store_unavailable within its deadline',
  'store.group-commit':
    'concurrent writes share statements and commits',
  'store.group-commit-bounded':
    'a write that finds no room or no time is refused, not kept',
  'store.group-commit-isolates':
    'a bad row fails alone, not those that share its statement',
} as const;
