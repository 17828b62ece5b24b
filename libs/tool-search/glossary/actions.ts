// What tools do. A row: English words that mean about the same, the main one first, and after the sign what is said in Chinese.
export const actions: readonly string[] = [
  'read get view open load = 读取 读 读出',
  'get fetch retrieve read obtain show view = 获取 取得 取出 拿到 得到 拉取',
];
