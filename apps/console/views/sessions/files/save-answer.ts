// Gives an answer of the API to the browser as a download. It was asked for with the key in a header, which no link can send.
const keptMs = 60_000;

export async function saveAnswer(answer: Response, name: string): Promise<void> {
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = url;
  // Characters that are not seen could make a name pose as another one on the person's machine.
  link.download = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '_');
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), keptMs);
}
