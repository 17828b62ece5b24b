export const chatRequirements = {
  'chat.abort.upstream': 'a caller who goes away ends the model call within a second',
  'chat.auto.loop': 'a server tool that the model calls runs, and the model answers from its result',
  'chat.auto.call-order': 'calls of a round are listed in the order in which the model made them, whichever ends first',
  'chat.auto.parallel': 'calls that only read run at once, calls that change one session in call order',
  'chat.bounds.calls': 'a turn runs no more than its share of calls and still ends with an answer that names the limit',
  'chat.bounds.repeated-failure':
    'the same call failing three times in a row ends the loop with an answer that names the limit',
  'chat.bounds.rounds':
    'at the bound of rounds one more model call without tools gives an answer, which names the limit',
  'chat.bounds.schemas': 'messages, tools and schemas above their bounds are refused by name',
  'chat.bounds.time': 'a turn that has used its time still ends with an answer, which names the limit',
  'chat.client.tools': 'a tool of the caller goes back to the caller under an id minted here',
  'chat.errors.bad-input': 'every bad input gets its status and code, never 500, never a hang',
  'chat.errors.all-headers': 'however many headers a request has, all that fit into the bound of bytes are read',
  'chat.errors.broken-requests': 'what is no HTTP request, or has no readable address, is refused in the same shape',
  'chat.errors.shape': 'an error has message, type, code and request id, and nothing of ours inside',
  'chat.examples': 'the examples of the documentation work as written',
  'chat.first-requests':
    'a gateway that has just started waits a moment for its first worker before it decides what is a tool of the caller',
  'chat.idempotency.attach': 'the same key and body at once is one run with one answer',
  'chat.idempotency.mismatch': 'the same key with another body is refused',
  'chat.json.fold': 'the JSON answer is the fold of the stream’s events',
  'chat.manual': 'in manual mode every call goes back to the caller',
  'chat.mixed.expired': 'a follow-up to a turn that is no longer stored is refused, another caller’s too',
  'chat.mixed.restored': 'a mixed turn is put back whole for the model, on any gateway, as often as it is posted',
  'chat.no-worker': 'without a worker a turn with server tools is refused before the model is asked',
  'chat.overload':
    'turns above the limit of a gateway are refused at once with a time to come back, those taken complete',
  'chat.overload.principal':
    'turns of one principal above its limit are refused at once by every chat API, and each that ends gives its place back',
  'chat.overload.principal-shared':
    'turns of one principal are counted over all gateways, and those of a gateway that died are forgotten within its lease',
  'chat.custom-tools':
    'a tool of free text works with any model: the caller gets its calls in that form, and they are read back',
  'chat.functions':
    'a request with `functions` is answered by `function_call`, and results of role `function` are read back',
  'chat.plain.not-stored': 'a plain chat writes nothing to the store',
  'chat.read.requests': 'a request is read as OpenAI reads it, and one fault is named by its field',
  'chat.runs.begin':
    'the first model call of a run without a key is made while the run is written, and comes to nothing where it cannot be',
  'chat.runs.cancel': 'a run is cancelled through any gateway',
  'chat.runs.detach': 'a detached run goes on without its caller',
  'chat.runs.resume': 'the events of a run go on after any number, on any gateway',
  'chat.runs.state': 'a run shows its state, rounds and usage',
  'chat.sdk': 'the official SDKs read every answer as one message with one finish reason',
  'chat.stream.arrival': 'nothing is collected before it is sent',
  'chat.stream.cut': 'an upstream that is cut makes every client throw',
  'chat.stream.error-is-last': 'after an error nothing says that the answer is complete',
  'chat.stream.events': 'events of the /api dialect are valid chunks with a type, numbered',
  'chat.stream.line-ends': 'line ends that only some clients know come as escapes',
  'chat.stream.keep-alive': 'silence is broken by comments, and headers do not wait for ever',
  'chat.stream.one-finish-reason': 'a stream has one role, one id and one finish reason',
  'chat.stream.strict': 'server calls do not show in the /v1 dialect',
  'chat.tool-choice': 'of the tools of a request only those are called that tool_choice allows, by name or by server',
  'chat.tools.failures': 'the failure of a tool goes to the model and does not fail the turn',
  'chat.warnings':
    'the answer of every chat API warns of each part of the request that was left out or changed, once, and of nothing else',
  'chat.usage.summed': 'usage is the sum of all rounds, shown on a /v1 stream only when asked for',
  'chat.offer-parts':
    'in every chat API, a content part that names a resource or a prompt of a tool server is replaced by what was read before the model is asked',
  'chat.offer-parts-refused':
    'a resource or prompt that cannot be read, or may not, is refused with an error that names the part, and no model is asked',
  'chat.offer-parts-once': 'a run keeps what was read for it: retries, continuations and replays read nothing again',
} as const;
