// The offline model's vocabulary: concepts with their English and Chinese words (`_` is a space inside a term). It has
// general words only, no particular tools, files or requests.

/** Actions that requests ask for and tools do. */
export const actionWords = {
  read: 'read open load show view display cat peek inspect print retrieve|读取 读 打开 查看 看看 看下 看一下 加载 阅读 显示 展示 载入',
  write: 'write save store put persist record append output dump export|写入 写到 写进 写 保存 存到 存入 存为 存储 记录 另存 输出到 存 追加 导出',
  list: 'list enumerate ls browse|列出 列举 有哪些 枚举 浏览 罗列 清单',
  search: 'search find grep lookup look_up query locate seek|搜索 查找 检索 查询 查一下 查查 查 搜 寻找 找到 找出 找一下 找',
  delete: 'delete remove erase rm unlink drop clear discard|删除 移除 删掉 删 清除 清空 去掉',
  move: 'move rename mv relocate|移动 重命名 改名 移到 挪到 更名',
  copy: 'copy duplicate clone cp|复制 拷贝 克隆',
  fetch: 'fetch download crawl scrape curl request visit http|抓取 下载 爬取 访问 请求网址 拉取',
  send: 'send mail notify post forward reply publish tell_them|发送 寄 发给 发到 通知 转发 回复 群发 发邮件 发一封 发一条 发消息 发布 发',
  create: 'create make add schedule book plan arrange setup register insert|创建 新建 添加 安排 预定 预订 建立 增加 新增 登记 建一个 约 注册',
  set: 'set turn switch adjust change update toggle dim enable disable configure modify edit control replace|设置 设为 设定 调到 调成 调整 调节 打开 关闭 关掉 开启 切换 修改 更新 编辑 改为 改成 控制 替换 关上',
  translate: 'translate translation translator|翻译 译成 译为 译',
  calculate: 'calculate compute calculator evaluate math solve sum calc|计算 算一下 算算 算 求值 运算 等于多少',
  convert: 'convert conversion converter exchange transform|转换 换算 兑换 换成 转成 转为 折合 等于多少',
  analyze: 'analyze analyse analysis examine classify evaluate assess|分析 评估 剖析 分类 归类 研究',
  summarize: 'summarize summarise summary tldr digest|总结 摘要 概括 归纳 概述',
  run: 'run execute exec eval shell bash command|运行 执行 跑一下 命令',
  ask: 'ask answer question consult faq qa why how chat|提问 回答 问答 问一下 解答 问题 咨询 为什么 如何 怎样',
  generate: 'generate compose draft produce|生成 撰写 起草 编写',
  describe: 'describe info stat metadata detail explain|描述 详情 信息 属性 说明',
  play: 'play listen stream|播放 听',
  remind: 'remind reminder alarm|提醒 闹钟',
  compare: 'compare diff difference|比较 对比 差异',
  count: 'count tally|统计 计数 数一下',
} as const; // prettier-ignore

/** What the actions are about. */
export const thingWords = {
  file: 'file document doc filename path|文件 文档 文件名 文稿 档案',
  directory: 'directory folder dir|目录 文件夹',
  web: 'url uri web webpage website http link page site|网址 网页 网站 链接 页面 网络',
  time: 'time date clock now today yesterday tomorrow day datetime timestamp weekday|时间 日期 几点 几号 现在 昨天 明天 前天 后天 今天 时刻 星期几 周几 时钟 什么时候',
  weather: 'weather forecast climate rain sunny umbrella meteo|天气 气象 预报 下雨 气候 天候',
  email: 'email mail inbox|邮件 邮箱 电子邮件 发邮件 信件 邮址',
  message: 'message sms text_message slack notification|消息 短信 讯息 信息',
  stock: 'stock share ticker quote equity|股票 股价 股份 行情',
  currency: 'currency money exchange exchange_rate usd eur forex dollar euro|货币 汇率 外汇 币种 美元 欧元 人民币 日元 英镑 钱',
  event: 'event meeting calendar appointment schedule agenda|日程 会议 日历 事件 约会 行程 开会',
  light: 'light lamp bulb lighting brightness|灯 灯光 照明 亮度',
  task: 'task todo to_do ticket issue|任务 待办 工单',
  reminder: 'remind reminder alarm|提醒 闹钟',
  note: 'note memo notebook|笔记 备忘 便签',
  user: 'user account profile member customer client|用户 账户 账号 客户 会员',
  order: 'order purchase invoice bill|订单 发票 账单',
  price: 'price cost fee amount|价格 费用 价钱 金额 多少钱',
  news: 'news headline article|新闻 头条 资讯 文章',
  map: 'map route direction navigation distance|地图 路线 导航 距离',
  flight: 'flight airline plane|航班 机票 飞机',
  code: 'code script program source|代码 脚本 程序 源码',
  language: 'language lang|语言 语种',
  location: 'location city place town region country address|城市 地点 位置 地区 国家 地址 所在地',
  version: 'version release|版本 版本号',
  author: 'author writer creator maintainer owner|作者 作家 创建者 维护者 负责人',
  name: 'name title called|名称 名字 姓名 标题 叫什么 项目名',
  subject: 'subject topic title theme|主题 标题 题目',
  content: 'content body text payload|内容 正文 文本 文字',
  description: 'description desc about|描述 简介 说明 介绍',
  license: 'license licence|许可证 许可 协议',
  status: 'status state|状态 情况',
  type: 'type kind category|类型 种类 类别 分类',
  size: 'size length bytes|大小 尺寸 长度',
  total: 'total sum count number quantity|总数 总计 数量 合计 个数',
  port: 'port|端口 端口号',
  host: 'host hostname server|主机 服务器 主机名',
  id: 'id identifier|编号 标识',
  result: 'result output answer|结果 答案 输出',
  room: 'room|房间 房',
} as const; // prettier-ignore

/** Values that schemas list in English, with other words for them. */
export const valueWords = {
  celsius: 'celsius centigrade c metric|摄氏 摄氏度 公制',
  fahrenheit: 'fahrenheit f imperial|华氏 华氏度 英制',
  high: 'high urgent critical|高 紧急 重要',
  medium: 'medium normal moderate|中等 普通 一般 正常',
  low: 'low minor|低 不急',
  red: 'red|红色 红',
  green: 'green|绿色 绿',
  blue: 'blue|蓝色 蓝',
  chinese: 'chinese zh mandarin|中文 汉语 简体中文',
  english: 'english en|英文 英语',
  japanese: 'japanese ja|日文 日语',
  french: 'french fr|法文 法语',
  german: 'german de|德文 德语',
  spanish: 'spanish es|西班牙文 西班牙语',
  korean: 'korean ko|韩文 韩语',
  russian: 'russian ru|俄文 俄语',
  usd: 'usd dollar us_dollar|美元 美金',
  eur: 'eur euro|欧元',
  cny: 'cny rmb yuan renminbi|人民币 元',
  jpy: 'jpy yen|日元 日币',
  gbp: 'gbp pound sterling|英镑',
  hkd: 'hkd|港币 港元',
  krw: 'krw|韩元',
} as const;

// prettier-ignore
export const languages = ['chinese', 'english', 'japanese', 'french', 'german', 'spanish', 'korean', 'russian'] as const;
export const currencyCodes = ['usd', 'eur', 'cny', 'jpy', 'gbp', 'hkd', 'krw'] as const;

export const timeZoneNames: Record<string, string> = {
  'Asia/Shanghai': 'shanghai beijing shenzhen china beijing_time|上海 北京 深圳 广州 中国 北京时间 东八区',
  'Asia/Hong_Kong': 'hong_kong|香港',
  'Asia/Taipei': 'taipei taiwan|台北 台湾',
  'Asia/Tokyo': 'tokyo japan|东京 日本',
  'Asia/Seoul': 'seoul korea|首尔 韩国',
  'Asia/Singapore': 'singapore|新加坡',
  'Asia/Kolkata': 'mumbai delhi bangalore india|孟买 德里 印度',
  'Asia/Dubai': 'dubai|迪拜',
  'Australia/Sydney': 'sydney melbourne|悉尼 墨尔本',
  'Europe/London': 'london|伦敦',
  'Europe/Paris': 'paris|巴黎',
  'Europe/Berlin': 'berlin munich|柏林 慕尼黑',
  'Europe/Moscow': 'moscow|莫斯科',
  'America/New_York': 'new_york boston toronto|纽约 波士顿 多伦多',
  'America/Chicago': 'chicago|芝加哥',
  'America/Los_Angeles': 'los_angeles san_francisco seattle|洛杉矶 旧金山 西雅图',
  'America/Sao_Paulo': 'sao_paulo|圣保罗',
  UTC: 'utc gmt|世界时',
};

/** Actions that may stand for each other in a tool's name. */
export const nearActions: readonly (readonly (keyof typeof actionWords)[])[] = [
  ['read', 'fetch', 'describe', 'search'], ['write', 'create', 'generate'], ['write', 'set'], ['send', 'write'], ['move', 'set'],
  ['ask', 'search', 'analyze', 'describe'], ['calculate', 'convert'], ['remind', 'create'], ['remind', 'set'],
  ['analyze', 'summarize', 'compare', 'count'],
]; // prettier-ignore

/** Actions that change something. Such tools are called one at a time, and only for a clear match. */
export const effects = new Set<string>(['write', 'delete', 'move', 'copy', 'send', 'create', 'set', 'run', 'remind']);

const smallWordsEn =
  'a an the this that these those it its them their there here i me my we us our you your he she they of for from to in on at by with into about as and or then also after ' +
  'next please can could would will shall should may might must do does did is are was were be been have has had get give tell let know want need like just now me what ' +
  'when where which who whom whose what s how many much any some all each every no not if so than too very up out over under using use tool function call help want current ' +
  'return given value parameter input string number optional required default';
const smallWordsZh =
  '请 帮我 帮忙 麻烦 一下 告诉我 告诉 给我 我想 我要 我 你 您 他 她 它 们 的 了 吗 呢 吧 啊 呀 是 有 在 和 与 跟 把 将 被 从 到 向 对 给 为 用 使用 这个 那个 这 那 其中 里面 中 里 上 下 并且 并 然后 再 接着 之后 ' +
  '同时 以及 还有 也 就 都 需要 想要 想 要 能 可以 能否 是否 会 什么 怎么样 怎么 怎样 如何 多少 哪些 哪个 哪里 几 个 一个 一份 一封 一条 今天 明天 昨天 后天 前天 现在 目前 当前 获取 得到 取得 最新 知道 关于 有关 工具 调用 如果 那么 需不需要 情况 帮';
export const smallWords = new Set([...smallWordsEn.split(' '), ...smallWordsZh.split(' ')]);
