// Lets the browser save a text or a blob as a file.
export function saveFile(name: string, content: Blob | string, type = 'application/json'): void {
  const address = URL.createObjectURL(typeof content === 'string' ? new Blob([content], { type }) : content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the address when the click is over; some read it a little later.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
