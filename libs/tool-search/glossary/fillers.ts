// Chinese words that are in most questions, whatever those ask for. They are taken out where they stand, so that what is left of
// a sentence is not read across them.
const fillers = new Set(
  `的 了 着 过 吗 呢 吧 啊 呀 嘛 么 哦 我 你 您 他 她 它 我们 咱们 你们 他们 我的 你的 这 那 这个 那个 这些 那些 这里 那里 这条 那条 这篇 那篇
  这段 这份 这张 这次 此 该 是 有 在 把 将 被 让 叫 给 对 跟 和 与 及 以及 或 或者 并 并且 而 但 但是 从 到 往 向 于 为 因为 所以 如果 的话
  请 请问 麻烦 帮 帮我 帮忙 帮我们 给我 替我 为我 我想 我要 我需要 想 要 想要 需要 能 能不能 能否 可以 可不可以 会 会不会 应该 可能
  一下 一下子 一个 一些 一条 一份 一张 一篇 一段 一种 个 些 下 里 里面 里的 上 上面 中 中的 内 外 什么 什么样 啥 怎么 怎么样 怎样 如何 哪 哪个 哪里 哪儿 谁 几 为什么
  是不是 是否 有没有 都 都有 也 还 还有 就 就是 才 又 再 很 太 最 更 非常 比较 现在 目前 当前 最近 刚才 刚刚 马上 立刻 今天 昨天 明天 后天 本周 这周 上周 下周
  本月 这个月 上个月 下个月 今年 去年 没 没有 不 不要 别 用 使用 通过 根据 按 按照 关于 有关 来 去 看 说 叫做 名为 名字叫 大家 自己 本 每 各 某 等 之 其 所 得 地`.split(
    /\s+/,
  ),
);

export const isFiller = (word: string): boolean => fillers.has(word);
