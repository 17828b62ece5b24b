// How a file is shown, by its name. What is not known is shown as text if it is text.
export type PreviewKind = 'text' | 'markdown' | 'json' | 'image' | 'pdf';

/** SVG is left to text: it is markup that may have scripts. */
const imageTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
};

const extensionOf = (path: string): string => /\.([a-z0-9]{1,8})$/i.exec(path)?.[1]!.toLowerCase() ?? '';

export function previewKind(path: string): PreviewKind {
  const extension = extensionOf(path);
  if (imageTypes[extension] !== undefined) return 'image';
  if (extension === 'md' || extension === 'markdown') return 'markdown';
  return extension === 'json' || extension === 'pdf' ? extension : 'text';
}

/** The type that the browser is told, whatever the gateway says: nothing is ever opened as a page. */
export const shownType = (path: string): string => imageTypes[extensionOf(path)] ?? 'application/pdf';

/** Larger texts are cut, larger images and PDFs are not shown. */
export const previewBytes: Readonly<Record<PreviewKind, number>> = {
  text: 1_000_000,
  markdown: 200_000,
  json: 1_000_000,
  image: 20_000_000,
  pdf: 50_000_000,
};
