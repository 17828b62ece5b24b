// The names of exported files.
/** A title as the name of a file. */
export const fileNameOf = (title: string, extension: string): string =>
  `${
    title
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'conversation'
  }.${extension}`;
