export const reliabilityRequirements = {
  'audit.clamped': 'arguments and results of any size take a bounded place in the audit',
  'audit.no-secret': 'no secret that stands in arguments or results reaches the audit',
  'backing.away-answers-in-time':
    'a backing store that is refused or silent answers store_unavailable within its deadline',
  'backing.slow-is-waited-for':
    'a job that the queue is slow to take is waited for while the store answers others, for as long as its caller has time',
  'backing.cache-bounded': 'the cache stays within its rows and bytes, the oldest goes first',
  'backing.cache-expires': 'a cached value is gone after its time',
  'backing.cache-shared': 'what one process caches another reads',
  'backing.channel-ended': 'an ended subscription hears nothing more and takes nothing from others',
  'backing.channel-every-subscriber':
    'a message reaches every subscriber of its channel in every process, and no other',
  'backing.channel-order': 'messages of one publisher on one channel arrive in order, none twice',
  'backing.channel-reconnects': 'subscriptions come back by themselves after a loss, and then say so',
  'backing.channel-size': 'a channel carries what it promises in bytes of UTF-8 and refuses more',
  'backing.closes-clean': 'closing leaves no connection and lets the process end',
  'backing.consumer-comes-back': 'jobs are taken again by themselves after the store was away',
  'backing.cut-loses-nothing': 'cut connections lose no accepted job and repeat none without saying so',
  'backing.few-connections': 'a process holds a bounded number of connections',
  'backing.job-again': 'a job that has ended can be added again, and says so when it is delivered',
  'backing.job-counts': 'the queue counts waiting and running jobs, and knows the age of the oldest',
  'backing.job-delivered': 'every added job is delivered, to one consumer',
  'backing.job-drain': 'a draining consumer ends what it has and takes no more',
  'backing.job-forget-worker': 'a dead worker’s queue can be removed with its jobs',
  'backing.job-once': 'a job is added once an id while it waits or runs',
  'backing.job-leaves-nothing': 'of a job that has ended the queue keeps nothing',
  'backing.job-order': 'interactive jobs come before batch jobs, else in order',
  'backing.job-outcome-survives': 'a job that ended while the store was away is acknowledged when it is back',
  'backing.job-put-back': 'a job that this worker does not know goes back to the queue',
  'backing.job-redelivered': 'a job whose worker died or lost its lock is delivered again within 15 s, and says so',
  'backing.job-remove': 'only a waiting job can be taken out',
  'backing.job-together':
    'quick jobs of one moment share their place in the queue, each of them is delivered, and one that comes again says so',
  'backing.job-waiting-for': 'what waits for one worker alone can be listed',
  'backing.job-worker-queue': 'a job for one worker is delivered to that worker alone',
  'backing.opens-at-once': 'several processes may open an empty store at once',
  'backing.ping-writes': 'a store that answers and takes nothing is no store that is well',
  'backing.shared-places':
    'processes that share places have no more than there are, an equal part each, and those of a dead one again',
  'backing.windows-exact': 'no more is taken in a sliding window than it has room for, by however many processes',
  'journal.audit-with-the-end': 'the terminal state of a call and its audit row are written together or not at all',
  'journal.cancel-planned': 'calls that have not begun can be cancelled, ones that have go on',
  'journal.claim-brings-arguments': 'a claim brings the arguments of its call along where that is asked for',
  'journal.claimed-once': 'of any number of workers one gets a call',
  'journal.lost-claim':
    'a call that its worker claimed without getting to know of it ends with its outcome all the same',
  'journal.read-together': 'calls whose outcomes are looked for at one moment are read by one statement',
  'journal.one-terminal-state': 'a call ends in exactly one recorded outcome with exactly one audit row',
  'journal.replanned':
    'the job and the time of a call that another gateway takes up are replaced while it is planned, never later',
  'journal.stale-fence-refused': 'an outcome under any other than the last claim is refused',
  'leases.fence-grows': 'each taking of a session has a fence above all earlier ones',
  'leases.living-only': 'only a living worker that does not drain takes a session',
  'leases.one-worker': 'a session is leased to exactly one worker, however many ask at once',
  'migrations.applied-once': 'several processes that start at once apply each migration once',
  'migrations.drift-refused': 'a migration that was changed after it was applied stops the start and is named',
  'migrations.prisma-ledger': 'applied migrations stand in Prisma’s own ledger',
  'migrations.refusal-reported': 'a database that will not have us ends the start, and what has to be mended is named',
  'processes.heartbeats': 'processes are known as alive by heartbeats, timed by the database',
  'processes.beat-again': 'a heartbeat that could not be written is tried again at once, not at its next time',
  'processes.lease-is-known': 'a process knows by its own clock whether others may have given it up',
  'processes.leaving-reported': 'a worker that takes no more work says so at once',
  'processes.stop-without-store': 'a process whose database is away at the end of its stop has stopped all the same',
  'reaper.clears-what-is-old': 'events, runs and calls go when their time is over, the audit stays',
  'reaper.calls-of-resumable-runs':
    'planned calls of an interrupted run that has an Idempotency-Key are left for whoever goes on with it',
  'reaper.dead-gateway':
    'the runs of a gateway that stopped are interrupted, their calls cancelled or finished, no round is added',
  'reaper.exactly-once': 'what a dead process left is taken up exactly once, whoever notices',
  'reaper.frees-sessions': 'the sessions of a dead worker are freed, once, whoever notices',
  'reaper.held-back': 'a planned call that its gateway, which lives, holds back is not given up',
  'reaper.late-outcome-refused': 'a worker that was given up and goes on has no say any more',
  'reaper.missing-jobs': 'a planned call whose job is missing in the queue is added again',
  'reaper.stray-queues': 'a job in the queue of a worker that is long gone does not wait there for ever',
  'reaper.watches-first': 'nobody is given up because the database or the observer was away',
  'reliability.cancelled-between-workers':
    'a call that is cancelled while its worker is lost is cancelled, in the answer as in the journal',
  'reliability.clock-jump':
    'clocks that are set by an hour, or differ by one, end no call, no turn and no lease before its time',
  'reliability.disk-full':
    'without space files cannot be written, with a code that says so; what was there stays whole, and writing goes on later',
  'reliability.ended-calls-leave-redis': 'Redis keeps nothing of calls that have ended, however large they were',
  'reliability.few-database-connections':
    'a gateway and a worker take at most 15 connections to the database each, at most 8 with Redis',
  'reliability.few-connections': 'a gateway or worker has at most twelve connections to PostgreSQL at any moment',
  'reliability.gateway-drains':
    'a gateway that is told to stop is not ready at once, begins nothing, ends what runs, then itself, with status 0',
  'reliability.handed-over':
    'a gateway that stops at the end of its grace time ends no call of a run that others go on with',
  'reliability.gateway-killed':
    'a retry with the same key completes a turn whose gateway was killed, without running its tools again',
  'reliability.idle-session-freed': 'a session that is not used is freed, its servers first',
  'reliability.given-up-and-back':
    'a run whose gateway was given up and goes on is run once, whoever asks that gateway for it again',
  'reliability.keyed-call-mismatch': 'a tool call with the key of another one is refused',
  'reliability.keyed-call-once':
    'a tool call with an Idempotency-Key runs once, whoever asks again, at once or later, on any gateway',
  'reliability.keyed-call-refused': 'a keyed tool call that never began begins with a later retry',
  'reliability.keyed-call-cancelled': 'the run of a keyed tool call is cancelled on any gateway, and its tool with it',
  'reliability.killed-at-random':
    'whatever is killed under load: one terminal state and one audit row a call, unsafe effects at most once, all turns complete',
  'reliability.lost-jobs-added-again': 'a planned call whose job the queue has lost is added again',
  'reliability.connections':
    'connections leave descriptors for what answers them: those above are closed, counted and reported, and there is room again when some close',
  'reliability.pipelines':
    'requests that a client sends without waiting for answers are bounded in number, and all of them end when it goes',
  'reliability.stuck-readers':
    'a client that asks and takes nothing of its answer is dropped in time and counted; one that waits is served',
  'reliability.no-descriptors':
    'a worker without file descriptors refuses with a reason and serves again when it has some',
  'reliability.outcome-spool': 'outcomes that the store cannot take are spooled on disk and loaded once',
  'reliability.redis-away-refused':
    'while Redis is away tool calls are refused within two seconds, plain chats go on, and all comes back by itself',
  'reliability.redis-full':
    'a Redis that is full refuses tool calls at once, says so, keeps no half job and loses none',
  'reliability.redis-restarted': 'a call that runs while Redis restarts completes once',
  'reliability.replies-may-be-lost': 'an outcome whose reply is lost is found in the journal',
  'reliability.rolling-restart':
    'while every gateway and worker is replaced in order under load no turn fails and each effect happens once',
  'reliability.safe-is-earned': 'only builtin, trusted or operator-marked tools count as safe to run again',
  'reliability.second-signal': 'a second signal ends a process at once',
  'reliability.spool-full': 'where an outcome could not be kept no new call begins, and nothing that ended is lost',
  'reliability.session-moves-in-order':
    'a session leaves a worker that stops with its last call there, no call of it lost or run in two workers at once',
  'reliability.session-taken-over': 'a session whose worker died goes on in another, under a higher fence',
  'reliability.start-survives-kills':
    'npm start goes on after its database, gateway or worker was killed under load, and every keyed turn completes',
  'reliability.start-waits-for-store':
    'a gateway or worker that begins while its store is away or too busy waits for it, and then serves',
  'reliability.store-away-refused':
    'while the database is away new tool calls are refused within two seconds, plain chats go on, and all comes back by itself',
  'reliability.store-away-ends':
    'a turn whose end could not be written is answered, and shown as done once the database is back',
  'reliability.store-away-spooled':
    'a call that ends while the database is away is recorded once when it is back, and its tool has run once',
  'reliability.waiting-jobs-fit':
    'as many calls as may wait fit into the memory that Redis is given, whatever callers send',
  'reliability.worker-drains': 'a worker that is told to stop ends what runs, then itself, with status 0',
  'reliability.worker-killed-safe': 'a safe call whose worker is killed runs again and succeeds once',
  'reliability.worker-killed-unsafe':
    'an unsafe call whose worker is killed has at most one effect, one terminal state and one audit row',
  'reliability.worker-stands-still':
    'a worker that stands still past its lease is given up in 15 s, its late outcome dropped, and it serves again afterwards',
  'runs.adopted-once': 'an interrupted run goes on under exactly one gateway',
  'runs.ended-by-owner': 'a run is ended once, by the gateway that owns it',
  'runs.event-numbers-never-reused': 'the numbers of events are never used again, also after events were forgotten',
  'runs.events-resume': 'stored events can be read from any number on',
  'runs.follower-leaves-nothing': 'who waits for the events of a run keeps one listener, however long it says nothing',
  'runs.idempotency-expires': 'an Idempotency-Key is free again after its life',
  'runs.idempotency-one-run': 'requests with one Idempotency-Key at once begin one run',
  'runs.last-round': 'the last round of a turn is stored with the end of its run, in one statement',
  'runs.rewind':
    'a reader that has events of a message that broke off with its gateway learns which of them are withdrawn, whenever it returns',
  'runs.interrupted-detached': 'detached runs that were interrupted are found, and whether one of their calls waits',
  'runs.mixed-turn-found': 'a client call leads its principal back to the whole turn',
  'runs.removed': 'a run that has ended is forgotten when its caller says so, and no other',
  'runs.round-with-its-calls': 'a round and its calls are stored together, before anything runs',
  'sessions.delete-forgets-turns': 'a deleted session takes its turns along, not its audit',
  'sessions.deleted-ends-servers':
    'what runs for a session ends when it is deleted or expires, before its directory is removed, and nothing starts there again',
  'sessions.deleted-everywhere': 'a session that was deleted begins anew at every gateway and worker at once',
  'sessions.made-with-the-call':
    'a session is made in the statement that plans its first call, and the worker gets its directory while the session is known',
  'sessions.not-taken-in-use': 'no session expires while a call of it is planned or runs',
  'sessions.one-directory': 'a session has one directory, whoever asks first',
  'store.any-string': 'any string that a model or tool sends is stored and comes back as it was',
  'store.away-answers-in-time':
    'a store that is refused, silent, slow or closed answers store_unavailable within its deadline',
  'store.by-index': 'what a call costs the store does not grow with the calls before it, in young tables neither',
  'store.group-commit': 'concurrent writes share statements and commits',
  'store.group-commit-bounded': 'a write that finds no room or no time is refused, not kept',
  'store.group-commit-isolates': 'a bad row fails alone, not those that share its statement',
  'store.written-later':
    'what the store could not take is written when it is back, in shared statements: a bounded number of writes, each for its time',
  'transitions.call':
    'what the transition table says of a call is what the store does: its state, its audit rows, and nothing where nothing is said',
  'transitions.run':
    'what the transition table says of a run is what the store does, and nothing where nothing is said',
  'worker.lost-answer': 'an outcome whose writing got no answer is replied like any other',
  'reliability.workspaces-away':
    'a directory of the workspaces that cannot be written is reported at the start and in readiness by its setting, calls fail with a code of the server, and it comes back by itself',
} as const;
