// Function words, which say nothing about what a text is about.

const english = `a about above after again against all also am an and any are aren't as at be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each even ever e.g i.e etc
every few for from further get gets got had has have having he her here hers herself him himself his how however i i'm if in
into is isn't it it's its itself just let like may me might more most much must my myself no nor not now of off on once one
only or other ought our ours ourselves out over own per same shall she should since so some such than that that's the their
theirs them themselves then there there's these they this those through thus to too two under until up upon us use used uses
using very via was wasn't we well were what when where whether which while who whom why will with within without won't would
yet you your yours yourself yourselves`;

const chinese = `一 一个 一些 一种 一样 一直 一定 上 下 不 不是 不同 与 且 两 个 中 为 为了 之 也 也是 了 于 些 什么 今 他 他们 以 以及
们 会 但 但是 位 你 你们 使 使得 使用 其 其中 其他 再 到 则 前 又 及 及其 只 可 可以 可能 各 各种 同 同时 后 向 和 哪 啊 因 因为 因此 在 地 多
大 她 她们 好 如 如果 如何 它 它们 对 对于 将 小 就 就是 已 已经 并 并且 年 很 您 成 我 我们 或 或者 所 所以 才 把 时 时候 是 是否 曾 更 最 月
有 有些 没 没有 点 然后 然而 现在 用 用于 由 由于 的 目前 看 着 而 而且 能 能够 自 自己 虽然 被 要 让 说 请 读 起 起来 跟 这 这个 这些 这样 这种 进行
还 还是 通过 那 那个 那些 都 里 间 需要 非常 去 来 从 等 给 年代 日`;

// Of other languages in Latin letters, without those that English notes have as words or in addresses.
const foreign = `au aux avec ce ces cette dans des du elle est et il ils je la le les leur mais ne nous où par pas
pour que qui sa ses son sont sur une vous aber als auch auf aus bei das dass dem der durch ein eine einem einen einer
es für hatte ich ist kann mit nach nicht noch oder sich sie sind über und unter vom von vor wenn werden wie wird wurde
zu zum zur al como con cuando de del desde el ella en entre esta este hay las lo los más muy para pero por porque se
si sin sobre su sus también una ya ao aos da dos ela ele em essa esse foi isso mas meu nas não nos pela pelo sem seu
sua são uma você alla anche che ci cui dal degli dei della delle di dove gli ho loro nel nella non più questo sono tra
un aan bij dat deze dit een geen heeft het hij ik maar met naar niet nog ook te tot uit van voor waar wordt zij zijn
att av den det eller er ett från för hade han hon inte jag kan med mot når och också om på sig som till var vi być czy
dla do gdy jak jest już lub ma nad nie od przez przy się tak tego tylko za że aby ani bylo která které jako jeho jen
jsou kde když nebo není při bir bu çok daha değil gibi için ile kadar olan olarak sonra ve adalah akan atau bahwa
dalam dapat dari dengan ini itu juga kepada karena ke oleh pada sudah tidak untuk yang ang mga ng cu din fi mai nu pe
prin sau și ei ennen että ja jos joka kanssa kuin mutta niin olla oli on ovat sekä tai az egy és hogy meg nem vagy
katika kwa ni nec quae quam quod sed ut`;

export const englishStopWords: ReadonlySet<string> = new Set(english.split(/\s+/));
export const chineseStopWords: ReadonlySet<string> = new Set(chinese.split(/\s+/));
export const foreignStopWords: ReadonlySet<string> = new Set(
  foreign.split(/\s+/).filter((word) => !englishStopWords.has(word)),
);
