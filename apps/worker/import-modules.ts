// Loads the modules of own tools that `worker.modules` names: compiled files with a Nest module as their default export.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';
import { ConfigError } from '#libs/config/config-error.js';

/** `names`: paths, relative ones from the working directory, or `file:` URLs. @throws ConfigError */
export async function importModules(names: readonly string[]): Promise<Type[]> {
  const modules: Type[] = [];
  for (const [index, name] of names.entries()) {
    const url = name.startsWith('file:') ? name : pathToFileURL(resolve(name)).href;
    const problem = (message: string) => new ConfigError([{ key: `worker.modules[${index}]`, message }]);
    let found: unknown;
    try {
      found = ((await import(url)) as { default?: unknown }).default;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw problem(
        code === 'ERR_MODULE_NOT_FOUND' ? `${name} was not found, or imports something that was not found` : message,
      );
    }
    if (typeof found !== 'function') throw problem(`${name} has no Nest module as its default export`);
    modules.push(found as Type);
  }
  return modules;
}
