// The offline model's vocabulary: concepts with their English and Chinese words (`_` is a space inside a term). Only
// general words: no particular tools, files or requests.

/** Verbs of requests and tools. */
const verbWords = {
  read: 'read open load show view display cat print retrieve|读取 读 打开 查看 看看 看下 看一下 看 加载 阅读 显示 展示',
  write: 'write save store put append record output export|写入 写到 写进 写下 写 保存 存到 存入 存为 存 记录 追加 导出',
  list: 'list browse|列出 列举 有哪些 浏览',
  search: 'search find grep lookup look_up query locate|搜索 查找 检索 查询 查一下 查 搜 寻找 找到 找出 找',
  delete: 'delete remove erase rm drop clear|删除 移除 删掉 删 清除 清空',
  move: 'move rename mv|移动 重命名 改名',
  copy: 'copy duplicate clone|复制 拷贝',
  fetch: 'fetch download crawl curl visit http|抓取 下载 访问',
  send: 'send mail notify post reply publish|发送 发给 发到 通知 回复 发邮件 发消息 发布 发',
  create: 'create make add schedule book plan|创建 新建 添加 安排 预定 增加 新增',
  set: 'set turn switch change update enable disable edit replace|设置 设为 关闭 关掉 开启 调到 修改 更新 编辑 改为 改成 替换',
  translate: 'translate translation|翻译成 翻译 译成',
  calculate: 'calculate compute calculator evaluate sum|计算 算一下 算 等于多少',
  convert: 'convert converter|转换 换算 换成 转成',
  analyze: 'analyze analyse analysis classify|分析 评估',
  summarize: 'summarize summarise summary|总结 摘要 概括',
  run: 'run execute exec command|运行 执行 命令',
  ask: 'ask answer question why how|提问 回答 问题 为什么 如何 怎样',
  describe: 'describe info metadata explain|描述 详情 信息 说明',
  remind: 'remind reminder|提醒',
}; // prettier-ignore

/** Objects of the verbs, and values that schemas list in English. */
const nounWords = {
  file: 'file document doc filename path|文件 文档 文件名',
  directory: 'directory folder dir|目录 文件夹',
  web: 'url uri web webpage website link page|网址 网页 网站 链接 页面',
  time: 'time date clock now today yesterday tomorrow day datetime|时间 日期 几点 几号 现在 昨天 明天 前天 后天 今天 星期几 什么时候',
  weather: 'weather forecast rain|天气 预报 下雨',
  email: 'email mail|邮件 邮箱',
  location: 'location city place country address|城市 地点 位置 国家 地址',
  version: 'version release|版本 版本号',
  author: 'author creator owner|作者 创建者 负责人',
  name: 'name title called|名称 名字 姓名 标题',
  subject: 'subject topic|主题',
  status: 'status state|状态',
  order: 'order invoice|订单 发票',
  content: 'content body text|内容 正文 文字 文本',
  port: 'port|端口 端口号',
  result: 'result output|结果',
  parameter: 'parameter setting|参数 设置',
  celsius: 'celsius|摄氏 摄氏度',
  fahrenheit: 'fahrenheit|华氏 华氏度',
};

export const vocabulary: readonly [concept: string, words: string][] = Object.entries({ ...verbWords, ...nounWords });
export const verbs: ReadonlySet<string> = new Set(Object.keys(verbWords));

/** Verbs that change something. Tools with them are called one at a time, and only for a clear match. */
export const effects: ReadonlySet<string> = new Set(['write', 'delete', 'move', 'copy', 'send', 'create', 'set', 'run', 'remind']); // prettier-ignore
/** Verbs that only look at something: showing the result is all that they ask for. */
export const looks: ReadonlySet<string> = new Set(['read', 'list', 'search', 'fetch', 'ask', 'describe', 'run']);
export const alike: readonly (readonly string[])[] = [
  ['read', 'fetch', 'describe', 'search'], ['read', 'list'], ['write', 'create', 'set'], ['move', 'set'],
  ['ask', 'search', 'analyze', 'describe'], ['remind', 'create', 'set'], ['analyze', 'summarize'],
]; // prettier-ignore

export const smallWords =
  'a an the this that these those it its them their there here i me my we us our you your he she they of for from to in on at by with into about as and or then also after ' +
  'next please can could would will shall should may might must do does did is are was were be been have has had get give tell let know want need like just me what say ' +
  'when where which who whom whose s much many any some all each every no not if so than too very up out off over under near using use tool function help current going go ' +
  'return given value input string number optional required default saying containing between titled ' +
  '请 帮我 帮 麻烦 一下 告诉我 告诉 给我 我想 我要 我 你 您 他 她 它 们 的 了 吗 呢 吧 啊 是 有 在 和 与 跟 把 将 被 从 到 向 对 给 为 用 使用 这个 那个 这 那 其中 里面 中 里 并且 并 然后 再 接着 之后 先 ' +
  '同时 以及 还有 也 就 都 需要 想 要 能 可以 能否 是否 会 什么 怎么样 怎么 多少 哪些 哪个 哪里 几 个 一个 一份 一封 一条 所有 当前 获取 得到 最新 知道 关于 有关 工具 调用 如果 那么 情况 这段 下 里的 谁 写了';

/** Places by their time zones, beside the cities in the names of the time zones. */
export const timeZonePlaces: Record<string, string[]> = {
  'Asia/Shanghai': ['china', 'beijing', '北京', '上海', '深圳', '广州', '中国'],
  'Asia/Tokyo': ['japan', '东京', '日本'],
  'Europe/London': ['伦敦'],
  'Europe/Paris': ['巴黎'],
  'America/New_York': ['纽约'],
};
