// The error codes of the gateway, and of the client library, in words. A code that is missing here is that of a newer gateway.
import type { ErrorCode, LocalErrorCode } from '@signalbox/client';
import type { Language } from '../i18n/language.js';

type Words<Code extends string> = Readonly<Record<Code, Readonly<Record<Language, string>>>>;

const gatewayWords: Words<ErrorCode> = {
  invalid_json: { en: 'The request is not JSON', zh: '请求不是 JSON' },
  invalid_value: { en: 'A field of the request is missing or wrong', zh: '请求中有字段缺失或有误' },
  too_many_tools: { en: 'More tools were offered than are allowed', zh: '提供的工具过多' },
  context_length_exceeded: {
    en: 'The messages do not fit into the context window of the model',
    zh: '消息超出了模型的上下文窗口',
  },
  turn_expired: {
    en: 'The calls that these messages answer are no longer stored',
    zh: '这些消息所回答的调用已不再保存',
  },
  reserved_name: { en: 'A tool has a name that the gateway keeps for itself', zh: '有工具使用了网关保留的名称' },
  invalid_api_key: { en: 'The key is unknown, expired or revoked', zh: '密钥未知、已过期或已吊销' },
  tool_forbidden: { en: 'The key does not allow this tool', zh: '密钥不允许使用此工具' },
  model_forbidden: { en: 'The key does not allow this model', zh: '密钥不允许使用此模型' },
  insufficient_scope: { en: 'The key or token lacks the scope for this', zh: '密钥或令牌缺少所需的权限' },
  origin_forbidden: { en: 'The gateway does not accept requests of this origin', zh: '网关不接受来自此来源的请求' },
  host_forbidden: { en: 'The gateway does not accept this host name', zh: '网关不接受此主机名' },
  not_found: { en: 'There is nothing at this path', zh: '此路径不存在' },
  model_not_found: { en: 'No provider has this model', zh: '没有提供方拥有此模型' },
  session_not_found: { en: 'There is no such session', zh: '没有这个会话' },
  run_not_found: { en: 'There is no such run, or it is no longer kept', zh: '没有这个运行，或其记录已不再保存' },
  response_not_found: { en: 'There is no such stored response', zh: '没有这个已保存的响应' },
  previous_response_not_found: { en: 'The previous response is not stored', zh: '前一个响应没有保存' },
  approval_not_found: { en: 'There is no such approval', zh: '没有这个审批' },
  file_not_found: { en: 'There is no such file', zh: '没有这个文件' },
  tool_not_found: { en: 'No tool has this name', zh: '没有这个名称的工具' },
  tool_change_not_found: {
    en: 'This change was decided already, or the server now lists another one',
    zh: '此变更已有决定，或服务器现在列出了另一个变更',
  },
  method_not_allowed: { en: 'This path does not take this method', zh: '此路径不支持该方法' },
  precondition_failed: { en: 'The file has changed meanwhile', zh: '文件在此期间已被修改' },
  unsupported_media_type: { en: 'The body must be JSON', zh: '请求体必须是 JSON' },
  range_not_satisfiable: { en: 'The range lies outside the file', zh: '请求的范围超出文件' },
  idempotency_mismatch: { en: 'This key was used with another request', zh: '此幂等键已用于另一个请求' },
  run_in_progress: { en: 'This run has not ended yet', zh: '该运行尚未结束' },
  approval_already_decided: { en: 'This was decided already, or it has expired', zh: '此审批已有决定或已过期' },
  audit_unprovable: { en: 'This row of the audit cannot be proved', zh: '无法证明此审计行' },
  request_too_large: { en: 'The request is too large', zh: '请求过大' },
  workspace_quota_exceeded: { en: 'The workspace of the session is full', zh: '会话的工作区已满' },
  rate_limit_exceeded: { en: 'Too many requests or tokens in a minute', zh: '每分钟的请求或 Token 过多' },
  concurrency_exceeded: { en: 'Too many turns or calls at once', zh: '同时进行的对话或调用过多' },
  too_many_approvals: { en: 'Too many calls of this caller wait for an approval', zh: '该调用者等待审批的调用过多' },
  budget_exceeded: { en: 'The budget of the key is used up', zh: '密钥的预算已用完' },
  internal_error: { en: 'The gateway made a mistake; its log has the cause', zh: '网关内部错误；原因在其日志中' },
  model_error: { en: 'The provider answered with an error', zh: '模型提供方返回了错误' },
  model_bad_response: { en: 'The provider sent an invalid answer', zh: '模型提供方的回答无效' },
  model_stream_cut: { en: 'The provider stopped in the middle of its answer', zh: '模型提供方的回答中途中断' },
  model_unavailable: {
    en: 'The provider failed repeatedly and is not called for a while',
    zh: '模型提供方多次失败，暂时不再调用',
  },
  queue_full: { en: 'Too many tool calls are waiting', zh: '等待的工具调用过多' },
  shutting_down: { en: 'The gateway was stopping', zh: '网关正在停止' },
  no_worker: { en: 'Tools were needed, but no worker is running', zh: '需要运行工具，但没有工作进程' },
  store_unavailable: { en: 'The database or the queue does not answer', zh: '数据库或队列没有响应' },
  issuer_unavailable: { en: 'The issuer of the tokens does not answer', zh: '令牌签发方没有响应' },
  workspace_disk_full: { en: 'The disk of the workspaces is full', zh: '工作区所在磁盘已满' },
  workspace_unavailable: { en: 'The workspaces cannot be written', zh: '工作区无法写入' },
  model_timeout: { en: 'The provider took too long', zh: '模型提供方超时' },
  tool_timeout: { en: 'The tool took longer than it may', zh: '工具运行超时' },
  tool_failed: { en: 'The tool answered with an error', zh: '工具返回了错误' },
  tool_crashed: { en: 'The tool server ended during the call', zh: '工具服务器在调用期间退出' },
  tool_unavailable: { en: 'The tool server cannot be reached', zh: '无法连接工具服务器' },
  tool_outcome_unknown: {
    en: 'The call may or may not have taken effect',
    zh: '调用可能已生效，也可能没有',
  },
  tool_denied: { en: 'The policy refused the call', zh: '策略拒绝了此调用' },
  approval_required: { en: 'The call waits for an approval', zh: '调用正在等待审批' },
  approval_denied: { en: 'A person refused the call', zh: '有人拒绝了此调用' },
  approval_expired: { en: 'Nobody decided about the call in time', zh: '无人及时作出决定' },
  invalid_tool_arguments: { en: 'The arguments do not match the schema of the tool', zh: '参数不符合工具的模式' },
  invalid_tool_result: { en: 'The result does not match what the tool promises', zh: '结果不符合工具的承诺' },
  result_too_large: { en: 'The result is too large', zh: '结果过大' },
  path_outside_workspace: { en: 'The path leads outside the workspace', zh: '路径超出工作区' },
  isolation_too_low: { en: 'The server would run with less isolation than required', zh: '服务器的隔离级别低于要求' },
  connection_needed: { en: 'The tool server needs a sign-in', zh: '工具服务器需要登录' },
  cancelled: { en: 'It was cancelled', zh: '已取消' },
};

const localWords: Words<LocalErrorCode> = {
  connection_failed: { en: 'The gateway could not be reached', zh: '无法连接网关' },
  timeout: { en: 'The gateway did not answer in time', zh: '网关没有及时响应' },
  stream_cut: { en: 'The stream ended before the turn did', zh: '流在对话结束前中断' },
  invalid_answer: { en: 'The answer could not be read', zh: '无法读取响应' },
};

const words: Readonly<Record<string, Readonly<Record<Language, string>>>> = { ...gatewayWords, ...localWords };

/** Those of the gateway. */
export const errorCodes = Object.keys(gatewayWords) as ErrorCode[];

export const errorWords = (code: string, language: Language): string | undefined =>
  Object.hasOwn(words, code) ? words[code]?.[language] : undefined;
