// Notices that the `npm` which started us is gone, killed perhaps: then nobody could stop us any more. Without npm above
// us it watches nothing: a supervisor may well outlive the shell that started it.
import { basename } from 'node:path';
import { identifyProcess, isSameProcess, readCommandLine, readParent } from '#libs/process/process-identity.js';

/** Nothing tells of a parent's end. */
const intervalMs = 500;

/** Returns what ends the watching. */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  // npm runs scripts through a shell, which outlives an npm that was killed.
  const grandparent = isScriptShell(parent) ? readParent(parent) : undefined;
  const above = grandparent === undefined ? undefined : identifyProcess(grandparent);
  const timer = setInterval(() => {
    if (process.ppid === parent && (above === undefined || isSameProcess(above))) return;
    clearInterval(timer);
    onGone();
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

function isScriptShell(pid: number): boolean {
  const [program = '', option] = readCommandLine(pid).split(' ');
  return /^(?:sh|dash|bash|ash|zsh|ksh)$/.test(basename(program)) && option === '-c';
}
