export const toolRequirements = {
  'tools.api-calls': 'POST /api/tools/call runs one tool and answers with the status and code of what happened',
  'tools.api-lists': 'GET /api/tools lists the catalog in OpenAI function form with an ETag',
  'tools.api-streams': 'POST /api/tools/call streams progress and the result as events',
  'tools.arguments-validated':
    'arguments are checked against the schema before they are queued, and what is wrong is named',
  'tools.builtin-cancelled': 'a builtin tool that is cancelled stops at once',
  'tools.builtin-encodings': 'files are read and written in the encoding that was asked for',
  'tools.builtin-failures': 'a builtin tool that fails says why, with its code and without a path of the host',
  'tools.builtin-files': 'the builtin tools read and change the files of their session',
  'tools.builtin-large-files': 'a large file is read in parts, in constant memory, never inside a character',
  'tools.builtin-listed': 'the builtin server lists its tools with annotations that are true',
  'tools.builtin-search': 'files are found by name and content in linear time',
  'tools.builtin-time': 'get_time answers with the timestamp, and with ISO 8601 in the time zone',
  'tools.call-through-queue': 'a call goes through queue, worker and MCP, and outcome, journal and audit agree',
  'tools.calls-at-once-bounded': 'calls of one session, or of one principal, beyond their limit wait in order',
  'tools.cancelled-not-started': 'a call that was cancelled before a worker took it does not run',
  'tools.cancel-reaches-tool': 'cancelling reaches a running tool within a second and leaves one terminal state',
  'tools.cancel-keeps-server': 'a cancelled call leaves its server running, unless that answers nothing any more',
  'tools.catalog-announced': 'tools that appear, change or go are known to gateways within a second',
  'tools.catalog-names': 'the first server in order keeps a bare name, server__tool always leads to its server',
  'tools.listed-in-turn':
    'a worker with many servers lists a few at a time, and one that does not answer holds up the others no longer than a second',
  'tools.catalog-read-once': 'a gateway reads the tools of a server again only where they have changed',
  'tools.changes-decided':
    'an operator accepts or rejects what is held back: all that was looked at or nothing, once, with an audit row',
  'tools.changes-graded': 'a changed definition is graded: white space, words, contract, a new tool, one that is gone',
  'tools.calls-that-read': 'a call that only reads by its arguments counts as one: GET and HEAD of fetch',
  'tools.changes-held':
    'a definition that changed is held back until an operator accepts it: what is offered is the approved one',
  'tools.prompts-held':
    'a prompt, and the instructions of a server, are pinned as tools are: what changed is held back, by the same settings',
  'tools.prompts-decided':
    'an operator accepts or rejects held prompts and instructions where changes of tools are decided',
  'tools.cost':
    'what the definition of each tool costs a model is shown by the API and the console, which sums it by server',
  'tools.crash-noticed': 'a tool server that ends fails its running calls at once, the next call starts a new one',
  'tools.decorators-around': 'a method around of an own server runs around each call, and decides what its caller gets',
  'tools.decorators-prompts': 'an own server lists prompts beside its tools, and fills in their arguments',
  'tools.decorators-resources':
    'an own server lists resources and templates, and reads them as text, bytes or JSON, for clients of both eras',
  'tools.decorators-completion': 'an own server completes arguments of its prompts and variables of its templates',
  'tools.decorators-logging':
    'what a tool of an own server logs reaches the client at or above its level, without secrets',
  'tools.decorators-changes':
    'clients of an own server are told when its tools, resources or prompts change, and when a resource that they subscribed to does',
  'tools.modules-named':
    'own tools of a module that worker.modules names run in the worker, and what is wrong with one is named',
  'tools.own-server-authenticates':
    'an own server over HTTP knows its callers by authenticate, and answers pages beside /mcp',
  'tools.deadlines': 'a call ends at its deadline; progress moves it up to the maximum',
  'tools.decorators-authorize': "a server's authorize runs before every handler and its refusal is UNAUTHORIZED",
  'tools.decorators-dynamic': 'tools registered and removed at run time are announced',
  'tools.decorators-errors': 'what a tool throws reaches the caller with its code and nothing that is not safe to show',
  'tools.decorators-found': 'decorated providers are found at start, duplicate names stop it naming both places',
  'tools.decorators-in-worker':
    'what is found in the worker is served in its process, with no setting, and may be switched off',
  'tools.decorators-progress': 'a decorated tool reports progress and is cancelled through its signal',
  'tools.decorators-publish':
    'a decorated method is listed with its name, schema with defaults, annotations and metadata',
  'tools.decorators-results': 'a decorated method may return text, an object or MCP content',
  'tools.definition-hash': 'a definition has one hash whatever the order of its members',
  'tools.discovery-shared':
    'which era and transport a server speaks is found out once for all workers, and anew where it is no longer so',
  'tools.early-progress-bounded':
    'of what a tool reports before its call is reported as queued the latest is kept, in bounded memory',
  'tools.egress-bounded':
    'connections of a tool server through the proxy are bounded in number, head and time, and end with it; each bound is counted',
  'tools.egress-guarded':
    'a tool server with an allow-list reaches the hosts of its list and nothing else, whatever a name resolves to',
  'tools.egress-works': 'what a tool server may reach it reaches by CONNECT and by plain HTTP, with the usual clients',
  'tools.fetch-bounded': 'what fetch reads is bounded in size, time and redirects, and leaves no half file',
  'tools.fetch-guarded': 'fetch reaches no private or reserved address that the operator has not allowed',
  'tools.fetch-validates':
    'fetch asks again for a page that it has read only if the page has changed, and stores none that must not be stored',
  'tools.fetch-works': 'fetch returns the text of an answer or saves it to a file',
  'tools.files-conditional': 'files have strong validators, and conditional requests are honoured without a race',
  'tools.files-confined': 'no address of the files endpoints reaches outside the own session',
  'tools.files-http':
    'files of a session are written, read, listed, archived and removed over HTTP, whatever their type',
  'tools.files-ranges': 'a part of a file is served by range',
  'tools.files-safe-to-show': 'a browser is not given anything of a workspace to run',
  'tools.files-streamed': 'files move in constant memory, and an upload that fails leaves nothing',
  'tools.headers-forwarded':
    'a server is sent those headers of the caller that are configured, each caller by a connection of its own, and no other place keeps them',
  'tools.hostile-events':
    'a stream of events that brings what is no message, or what nobody asked for, without end is ended, and its connection with it',
  'tools.hostile-http': 'a server behind an address that misbehaves costs its own calls only, and leads nowhere else',
  'tools.hostile-schemas-bounded': 'no schema, pattern or argument of others holds the event loop',
  'tools.hostile-servers':
    'a tool server that misbehaves costs its own calls only: a code that says what happened, in time and bounded memory',
  'tools.root-drops-its-rights': 'tool servers of a worker that is root run as another user, without its rights',
  'tools.network-of-commands':
    'a command server has the network that is configured for it: none, a list of hosts through the proxy, or all',
  'tools.quota-of-commands':
    'a command server that fills its workspace is stopped, counted again and ended, and its call says so',
  'tools.confined-by-default':
    'a command server reads and writes the files of its session, its own program, and what the operator names',
  'tools.isolation-never-weakened':
    'a command server that must be isolated more strongly than this worker can is refused',
  'tools.isolation-stops-attacks':
    'no attack of docs/isolation.md succeeds at a level that is said to stop it, whatever the worker runs as',
  'tools.named-paths':
    'a tool server may read and write what its configuration names, is told of no other directory, and `paths` narrows it',
  'tools.search.bounded': 'a search for tools ends in time, whatever the query is and whatever hostile servers define',
  'tools.search.recall':
    'of 500 tools and more, the right one is among the first five for nine of ten questions of a set in English and in Chinese, half of it held out; a command measures it',
  'tools.search.dictionary': 'a Chinese word that no row of the glossary has finds tools by what it means in English',
  'tools.search.server': 'of tools that are equal, the one whose server has more of what is asked for comes first',
  'tools.search.many': 'the right tool of 10,000 is found by its words, in milliseconds',
  'tools.add':
    'signalbox tools add shows what a pasted file would add, and writes it without its secrets, or nothing that a start would refuse',
  'tools.known-servers': 'servers of both protocol eras work, over stdio, Streamable HTTP and HTTP+SSE',
  'tools.list-changed-heard':
    'a server of either era that changes its tools is heard, over every transport, for as long as it is connected',
  'tools.listed-tolerantly': 'a bad definition in a list costs that tool only, and is reported',
  'tools.arguments-converted':
    'what a model wrote as text where a schema names one other type is converted if nothing is lost, and the audit says so',
  'tools.schemas-mended':
    'schemas of older drafts and common mistakes in them are mended for models and for the check of arguments; what cannot be mended is said',
  'tools.waits-for-worker':
    'while no worker runs a tool call waits for one: as long as tools.worker_wait_ms, its own time and its caller allow',
  'tools.planned-call-taken-up':
    'a call that was planned and never began runs once, under its id, when its run goes on on another gateway',
  'tools.logs': 'what a tool server logs during a call reaches the call, from the level that the call wants, bounded',
  'tools.offers-read':
    'resources, templates and prompts of a server that cannot be used are left out and reported, and all together are bounded',
  'tools.offers-answers':
    'what a server answers about a resource, prompt or completion is checked and bounded before it is passed on',
  'tools.no-worker':
    'without a worker a tool call waits for one for a while, then is refused and leaves nothing behind',
  'tools.nothing-left-alive': "no process of a tool server outlives its use, its worker's stop, or its worker's death",
  'tools.own-server-documented': 'the server of docs/own-tools.md compiles and does what the page says',
  'tools.own-server-asks':
    'a tool of ours asks its client by what it returns, in both eras, and what it keeps meanwhile cannot be changed',
  'tools.own-server-http':
    'a server made with the decorators serves Streamable HTTP to clients of both eras, to allowed callers only, and stops in order',
  'tools.param-headers':
    'arguments that a tool server wants in headers are sent there, and a tool that declares them wrongly is not offered',
  'tools.own-server-stdio':
    'a server made with the decorators serves standard input and output, for clients of both eras',
  'tools.unwanted-start-ends': 'a server that is starting is ended when nobody waits for it any more',
  'tools.pool-bounded':
    'instances of a server, calls on one and tries to connect are bounded; beyond it the answer is tool_unavailable',
  'tools.pool-standbys':
    'a new session gets an instance that runs already, in a workspace where no other session has ever been',
  'tools.refusal-means-nothing-ran':
    'a call that is refused because a store is away does not run: where nobody can say so, its outcome is reported as unknown',
  'tools.large-arguments-by-journal':
    'large arguments stay out of the queue, and the tool gets them whole from the journal',
  'tools.slow-queue':
    'a call whose queue is slow to take it ends by what its worker says or its caller does, whatever the queue says later',
  'tools.starts-bounded':
    'programs of tool servers start a few at a time in a worker; others wait in order, and are refused after a time without blame',
  'tools.give-way': 'tool servers, and all that they start, give way to Signalbox where the CPU is scarce',
  'tools.pool-one-instance':
    'a server has one instance a key, connected once, with bounded calls at once, shared by no two users',
  'tools.progress-in-order': 'progress of a call arrives in order and before its result',
  'tools.questions-refused': 'a server that asks what nobody can answer is told so at once',
  'tools.results-kept':
    'a result of a tool that the operator marked answers equal calls of the same principal for a time, and no failure does',
  'tools.queue-full':
    'calls above the length of the queue are refused at once with a time to come back, and those taken end',
  'tools.refused-calls-audited': 'a call that is refused before it runs is journaled and audited',
  'tools.reload':
    'a tool server that is added, changed or removed counts at once for new calls, and ends no call that runs',
  'tools.memory-of-commands':
    'a command server and all that it starts have one bound of memory; above it they are ended, and the error names the setting',
  'tools.null-is-absent': 'an optional member that a tool server writes as null is read as absent, on every transport',
  'tools.unreadable-at-once': 'an answer that cannot be read ends its call at once, whatever time the call has left',
  'tools.older-greeting':
    'a server that does not understand the newer greeting is greeted in the older one, within the time of a start',
  'tools.hanging-start':
    'a server that does not come to its end of a start leaves no process behind, and the error names the setting',
  'tools.results-as-text':
    'structured content of any JSON value is returned as text where no text is beside it, and an empty result in words',
  'tools.results-carried': 'every kind of content of a result is carried as it came, what is broken is named as text',
  'tools.results-clamped': 'a large result is kept whole in the workspace and the model gets head, tail and path',
  'tools.session-affinity': 'all calls of a session to servers that keep something a session run in one worker',
  'tools.session-state-apart':
    'what a server keeps for a session is seen by no other one, and goes on, also while workers die and others come',
  'tools.safe-run-once': 'a call whose job comes once more after its end is not run again',
  'tools.servers-configured':
    'command and URL servers are configured as Claude Desktop writes them, and refused with what to do about it',
  'tools.servers-contained':
    "a command server gets the session's directory, a short environment and no name of the host's directories",
  'tools.servers-in-catalog':
    'tools of command and URL servers are offered and called like builtin ones, and audited with their isolation',
  'tools.servers-reported':
    'every gateway lists each tool server with its state and isolation, and why one that is configured does not run',
  'tools.session-reopened': 'a server that has forgotten its session is asked again in a new one',
  'tools.sessions-http': 'sessions are made, shown with their use and expiry, listed and removed over HTTP',
  'tools.stateless-anywhere': 'calls that leave nothing behind in a worker run in any, and pay for no lease',
  'tools.tasks-followed':
    'a call of which its tool server makes a task is followed until its result, and the status of the task is its progress',
  'tools.tasks-ask': 'what a task asks of the client is a question of its call, asked once',
  'tools.tasks-ended':
    'a task that failed, was cancelled, is lost or cannot be read ends its call with a clear error, and the call is not repeated',
  'tools.tasks-cancelled': 'a task is cancelled at its tool server when its call is stopped',
  'tools.workspace-archive':
    'a workspace is archived as a tar of its files and directories; one that breaks off does not look complete',
  'tools.workspace-free-reserve':
    'with less than a reserve free on their disk nothing is written to workspaces, which is said as such; what frees space goes on',
  'tools.workspace-links-refused': 'links, pipes, sockets and devices in a workspace lead nowhere',
  'tools.workspace-many-files':
    'a workspace of very many files is listed, counted, archived and removed in bounded memory and time a step',
  'tools.workspace-paths-confined': 'no form of a path reaches outside the own workspace',
  'tools.workspace-quota-exact': 'a write that would exceed a limit of the workspace is refused, exactly and whole',
  'tools.workspace-quota-watched':
    'a process that writes into its workspace beyond a limit is stopped, counted again, and ended with the code and reason',
  'tools.workspace-race-free': 'swapping a directory for a link while files are written lets none escape',
  'tools.workspace-removal-complete': 'a workspace is removed whole whatever tools did to it, and nothing else',
  'tools.workspace-swept': 'workspaces of expired sessions, and directories without a session, are removed',
  'tools.workspace-writes-not-late':
    'a process that was stopped in a write changes nothing when its caller has gone or its worker was given up since',
  'tools.workspace-writes-whole': 'a write that fails leaves what was there before',
  'tools.resources-api':
    'the API lists the resources of tool servers that the caller may read, and reads one by list or template as a call that is audited',
  'tools.prompts-api': 'the API lists the prompts of tool servers, gets one with arguments, and completes an argument',
  'tools.search-offered':
    'above a bound of tools or tokens a model is offered find_tools, and what it found, in place of the tools of servers; below it, and by the names that a request lists, the tools',
  'tools.search-found':
    'find_tools finds what the caller may use, as a call that is journaled, audited and shown; what it found can be called from then on, under the policy, in every family and dialect',
  'tools.search-governed':
    'searches of models and of MCP clients are calls: shown with the gateway as their server, audited, logged and counted',
  'tools.search-kept':
    'what a session found stays offered in it, after a restart and by another gateway, and to no other session or principal',
  'tools.search-meaning':
    'with an embeddings server, tools are found by what they mean too; without an answer of it within a second, by words alone',
  'tools.search-cost': 'a request costs no more with 10,000 tools than with 10',
} as const;
