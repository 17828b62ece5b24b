export const modelRequirements = {
  'models.abort': 'leaving or aborting closes the upstream connection within 50 ms',
  'models.backpressure': 'a slow reader slows the upstream',
  'models.circuit': 'a provider that fails again and again is not asked for a while, and its callers are told at once',
  'models.concurrency': 'calls under way at once are bounded, a call too many is refused at once',
  'models.context-window':
    'a request that certainly does not fit into the context window is refused before the model is asked, no other is',
  'models.count-tokens': 'tokens of a request are counted by the model that would answer it, or not at all',
  'models.errors': 'an upstream failure has the status and code of the table and shows no secret',
  'models.families.answers':
    'every known form of an answer of Anthropic, Gemini and OpenAI’s Responses API comes to the same events',
  'models.families.efforts': 'a model is asked for the effort nearest to the caller’s that it has',
  'models.families.goes-on':
    'a message that paused or was spoilt is gone on with or asked for again, a bounded number of times',
  'models.families.golden':
    'a caller gets the same answer whichever family gave it, streamed or whole, wherever its bytes are cut',
  'models.families.lists': 'the models of every family can be listed, page by page',
  'models.families.request':
    'a request is written as its family wants it; what a family cannot say is reported or refused by name',
  'models.families.restart':
    'a message that begins again in the middle of a stream is emitted once, and none of its first calls run',
  'models.families.result-order':
    'results stand directly behind their calls, in the order of the calls, however a caller posts them',
  'models.families.schemas':
    'a schema is widened to what a family can say, never narrowed, and what was lost is reported',
  'models.families.state':
    'thinking and signatures go back unchanged, in their place, to the provider that made them only',
  'models.families.strict-schemas': 'a tool goes out as strict only with a schema that OpenAI takes as strict',
  'models.families.tool-loop':
    'a tool loop looks the same to a caller whichever family answers, and breaks no rule of it',
  'models.families.tool-search':
    'tools that were found go to a model in its API’s own form, which leaves the list of tools as it was; a model that refuses that gets them in the list',
  'models.families.types': 'what is sent to a model and what is read of it has the types of the official SDKs',
  'models.media-types':
    'media go out under the name that a family knows; what it does not take is described in text, with a warning, and ends no turn',
  'models.open-end': 'an answer with its finish reason ends soon, also when the upstream leaves the connection open',
  'models.openai.byte-boundaries': 'an answer means the same wherever its bytes are cut',
  'models.openai.call-ids': 'ids of calls are rewritten for providers that take only their own form',
  'models.openai.choices': 'with n > 1 each choice keeps its index and its finish reason',
  'models.openai.content-type': 'streamed or whole is recognized by the content type of the answer',
  'models.openai.extras': 'members of an answer that are not known are passed on',
  'models.openai.kept-members':
    'members of a message or a call that a provider wants back go back to it as they came, and to no other',
  'models.openai.known-servers': 'a server is sent only roles, fields and orders of messages that it takes',
  'models.openai.quirks': 'every known way in which OpenAI-compatible upstreams differ comes to the same events',
  'models.openai.reasoning-replay': 'reasoning goes back to the models that want it, and only to them',
  'models.openai.request': 'an upstream is sent what the caller sent, and only what it understands',
  'models.openai.wires':
    'OpenAI’s API of a request follows from the configuration or the model, and a server without it is asked over the other',
  'models.openai.whole-answers': 'a whole answer reads into the same events as a streamed one',
  'models.parameters':
    'parameters that a model refuses, in this size or together, are left out or lowered, and each is reported in a warning',
  'models.prompted.bounds': 'a model that writes its calls as text costs bounded time and memory, whatever it writes',
  'models.prompted.broken': 'a written call that cannot be read is returned to the model as the error of that call',
  'models.prompted.cut-call': 'a written call that was cut by max_tokens is not run, and is no text',
  'models.prompted.cuts': 'a written call means the same wherever the answer is cut, and no piece of a tag is shown',
  'models.prompted.dialects': 'calls that a model writes as text are read in every form that models use',
  'models.prompted.loop': 'a model without tool use is served like one that has it, run here, by the client or mixed',
  'models.prompted.none': 'a model with tools none is offered none; a call that must be made is refused',
  'models.prompted.request': 'a model without tool use gets the tools, the choice and the history as text',
  'models.prompted.text': 'text of a model that may call streams at once and is left as it is',
  'models.retry-budget':
    'retries of a provider are a share of its calls, so that one that fails gets hardly more load than one that answers',
  'models.retries': 'failures before the first byte are tried again within a budget, each retry is observable',
  'models.away':
    'a provider that cannot be had is named with its address, the reason and the next step, without its key',
  'models.router.bad-names': 'hostile and unknown names are refused',
  'models.router.discovery': 'models that an upstream lists can be listed and asked for by their bare name',
  'models.router.fallback': 'a list of candidates moves on only while nothing was sent',
  'models.router.misnamed': 'a default or alias that leads to no model is found without asking a provider',
  'models.router.names': 'a name leads to its provider: prefix, alias, list, default, offline',
  'models.timeouts': 'connecting, the first byte, silence and the whole call have deadlines',
  'models.property-names':
    'property names that a provider does not take are mapped in schemas, arguments and history, and back',
  'models.tool-names': 'tool names are mapped to what a provider takes and back, the same way every time',
  'models.tool-results':
    'pictures, sounds and files that a tool gives reach models that take them, and are named to others',
  'models.upstream-closes': 'an upstream that closes while the reader is slow ends no process and loses no byte',
  'models.upstream-cut': 'an answer that was cut short is an error, never a complete answer',
  'offline.answers-from-results': 'The offline model answers from tool results, also in a follow-up without tools',
  'offline.any-schema':
    'Whatever the tools and the text, the offline model calls with arguments that satisfy the schema, or not',
  'offline.bounds': 'The offline model keeps to max_tokens and stop; a call cut by them never ends',
  'offline.chains': 'The offline model goes on with what an earlier call got and stops when all is done',
  'offline.failure': 'The offline model says what failed and why, and does not try the same again',
  'offline.first-round':
    'The offline model finds the tool and the arguments for a request in Chinese or English, or calls none',
  'offline.partial':
    'The offline model says which parts of a request it did not do, in the language of the request, and composes nothing',
  'offline.stream': 'The offline model streams the same events for the same messages and heeds the signal',
  'offline.structured': 'The offline model answers in the JSON that response_format asks for',
  'offline.finds-tools': 'The offline model looks once for a tool if find_tools is offered and no other tool fits',
  'offline.time': 'The offline model answers in bounded time, however long the text and however many the tools',
  'offline.tool-choice': 'The offline model heeds tool_choice and parallel_tool_calls',
} as const;
