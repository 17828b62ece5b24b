// What tools work with. A row: English words that mean about the same, the main one first, and after the sign what is said in Chinese.
export const things: readonly string[] = ['file document = 文件'];
