// Whether this machine has a Chromium. Suites that need one are skipped without it, by name.
import { spawnSync } from 'node:child_process';

/** The headless shell shows pages as the whole browser does, and draws no window around them. */
export const chromiumPath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', 'chromium'].find(
  (path) => spawnSync(path, ['--version']).status === 0,
);

/** What to do about it; undefined where it is there. */
export const noChromium: string | undefined =
  chromiumPath === undefined ? 'needs Chromium: apt-get install chromium-headless-shell fonts-noto-cjk' : undefined;
