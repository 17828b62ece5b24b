// The offline model's vocabulary: concepts with their English and Chinese words (`_` is a space inside a term). It has
// general words only, no particular tools, files or requests.

/** Actions that requests ask for and tools do. */
export const actionWords = {
  read: 'read open load show view display cat peek inspect print retrieve|读取 读 打开 查看 看看 看下 看一下 加载 阅读 显示 展示',
  write: 'write save store put persist record append output dump export|写入 写到 写进 写上 写下 写 保存 存到 存入 存为 存储 记录 追加 导出',
  list: 'list enumerate ls browse|列出 列举 有哪些 浏览 罗列 清单',
  search: 'search find grep lookup look_up query locate seek|搜索 查找 检索 查询 查一下 查 搜 寻找 找到 找出 找一下 找',
  delete: 'delete remove erase rm unlink drop clear|删除 移除 删掉 删 清除 清空 去掉',
  move: 'move rename mv|移动 重命名 改名 移到',
  copy: 'copy duplicate clone cp|复制 拷贝',
  fetch: 'fetch download crawl scrape curl request visit http|抓取 下载 爬取 访问 拉取',
  send: 'send mail notify post forward reply publish|发送 发给 发到 通知 转发 回复 发邮件 发消息 发布 发',
  create: 'create make add schedule book plan arrange register insert|创建 新建 添加 安排 预定 预订 建立 增加 新增',
  set: 'set turn switch adjust change update toggle enable disable configure modify edit control replace|设置 设为 打开 关闭 关掉 开启 调到 调整 切换 修改 更新 编辑 改为 改成 替换',
  translate: 'translate translation translator|翻译成 翻译 译成 译为',
  calculate: 'calculate compute calculator evaluate math solve sum|计算 算一下 算 求值 等于多少 等于几',
  convert: 'convert conversion converter exchange|转换 换算 兑换 换成 转成 转为 等于多少',
  analyze: 'analyze analyse analysis examine classify assess|分析 评估 分类 研究',
  summarize: 'summarize summarise summary digest|总结 摘要 概括 归纳',
  run: 'run execute exec eval shell bash command|运行 执行 命令',
  ask: 'ask answer question consult faq why how|提问 回答 问答 问题 咨询 为什么 如何 怎样',
  generate: 'generate compose draft produce|生成 撰写 起草',
  describe: 'describe info stat metadata detail explain|描述 详情 信息 属性 说明',
  play: 'play listen|播放 听',
  remind: 'remind reminder alarm|提醒 闹钟',
  echo: 'echo repeat say|重复 复述',
  count: 'count tally compare diff|统计 计数 比较 对比',
} as const; // prettier-ignore

/** What the actions are about, and values that schemas list in English. */
export const thingWords = {
  file: 'file document doc filename path|文件 文档 文件名',
  directory: 'directory folder dir|目录 文件夹',
  web: 'url uri web webpage website http link page site|网址 网页 网站 链接 页面',
  time: 'time date clock now today yesterday tomorrow day datetime timestamp weekday|时间 日期 几点 几号 现在 昨天 明天 前天 后天 今天 星期几 周几 什么时候',
  weather: 'weather forecast climate rain umbrella|天气 气象 预报 下雨',
  email: 'email mail inbox|邮件 邮箱 电子邮件',
  message: 'message sms notification|消息 短信',
  stock: 'stock share ticker quote|股票 股价 行情',
  currency: 'currency money exchange_rate|货币 汇率 币种',
  event: 'event meeting calendar appointment|日程 会议 日历 事件 约会',
  light: 'light lamp brightness|灯 灯光 亮度',
  note: 'note memo|笔记 备忘',
  user: 'user account profile member customer|用户 账户 账号 客户',
  order: 'order purchase invoice|订单 发票 账单',
  price: 'price cost fee amount|价格 费用 多少钱',
  map: 'map route direction navigation distance|地图 路线 导航 距离 怎么走',
  flight: 'flight airline plane|航班 机票',
  code: 'code script program|代码 脚本 程序',
  text: 'text|文字 文本',
  language: 'language lang|语言',
  location: 'location city place country address|城市 地点 位置 地区 国家 地址',
  version: 'version release|版本 版本号',
  author: 'author writer creator maintainer owner|作者 创建者 维护者 负责人',
  name: 'name title called|名称 名字 姓名 标题 叫什么',
  subject: 'subject topic theme|主题',
  content: 'content body payload|内容 正文',
  description: 'description about|描述 简介 说明 介绍',
  status: 'status state|状态',
  type: 'type kind category|类型 种类 类别',
  size: 'size length bytes|大小 尺寸 长度',
  port: 'port|端口 端口号',
  result: 'result output answer|结果 答案',
  parameter: 'parameter setting|参数 设置',
  knowledge: 'knowledge wiki|知识 知识库',
  celsius: 'celsius|摄氏 摄氏度',
  fahrenheit: 'fahrenheit|华氏 华氏度',
} as const; // prettier-ignore

/** English names of cities are those in the names of the time zones. */
export const timeZonePlaces: Record<string, string> = {
  'Asia/Shanghai': 'china beijing|北京 上海 深圳 广州 中国', 'Asia/Hong_Kong': '香港', 'Asia/Taipei': '台北', 'Asia/Tokyo': 'japan|东京 日本', 'Asia/Kolkata': 'india delhi mumbai|印度 孟买',
  'Asia/Seoul': '首尔', 'Asia/Singapore': '新加坡', 'Asia/Dubai': '迪拜', 'Australia/Sydney': '悉尼', 'Europe/London': '伦敦',
  'Europe/Paris': 'france|巴黎 法国', 'Europe/Berlin': 'germany|柏林 德国', 'Europe/Moscow': '莫斯科', 'America/New_York': '纽约',
  'America/Los_Angeles': 'san_francisco|洛杉矶 旧金山', UTC: 'utc gmt|世界时',
}; // prettier-ignore

/** Actions that may stand for each other in a tool's name. */
export const nearActions: readonly (readonly (keyof typeof actionWords)[])[] = [
  ['read', 'fetch', 'describe', 'search'], ['read', 'list'], ['write', 'create', 'generate'], ['write', 'set'], ['move', 'set'],
  ['ask', 'search', 'analyze', 'describe'], ['calculate', 'convert'], ['remind', 'create'], ['remind', 'set'],
  ['analyze', 'summarize', 'count'], ['generate', 'write'],
]; // prettier-ignore

/** Actions that change something. Such tools are called one at a time, and only for a clear match. */
export const effects = new Set<string>(['write', 'delete', 'move', 'copy', 'send', 'create', 'set', 'run', 'remind']);

export const smallWords =
  'a an the this that these those it its them their there here i me my we us our you your he she they of for from to in on at by with into about as and or then also after ' +
  'next please can could would will shall should may might must do does did is are was were be been have has had get give tell let know want need like just me what ' +
  'when where which who whom whose s how many much any some all each every no not if so than too very up out off over under near using use tool function help current going go ' +
  'return given value input string number optional required default saying containing between titled ' +
  '请 帮我 帮 麻烦 一下 告诉我 告诉 给我 我想 我要 我 你 您 他 她 它 们 的 了 吗 呢 吧 啊 是 有 在 和 与 跟 把 将 被 从 到 向 对 给 为 用 使用 这个 那个 这 那 其中 里面 中 里 并且 并 然后 再 接着 之后 ' +
  '同时 以及 还有 也 就 都 需要 想 要 能 可以 能否 是否 会 什么 怎么样 怎么 多少 哪些 哪个 哪里 几 个 一个 一份 一封 一条 所有 当前 获取 得到 最新 知道 关于 有关 工具 调用 如果 那么 情况 这段 下 里的 谁 写了';
