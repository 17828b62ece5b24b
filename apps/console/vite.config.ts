// Builds the page into dist/console: hashed files, each beside its brotli and gzip form.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = join(root, 'dist/console');

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Addresses are relative: the gateway may be below any path of a proxy.
  base: './',
  publicDir: false,
  resolve: {
    alias: [
      { find: /^#libs\/(.*)\.js$/, replacement: `${root}libs/$1.ts` },
      { find: '@signalbox/client', replacement: `${root}clients/typescript/src/index.ts` },
    ],
  },
  build: {
    outDir: target,
    emptyOutDir: true,
    // The policy of the page forbids what an address could hold, except for images.
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: 'es2023',
    chunkSizeWarningLimit: 1_000,
    // Directives for servers mean nothing here.
    rolldownOptions: { onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log) },
  },
  plugins: [twoLanguages(), compressed()],
});

/** React Aria brings its own texts in 34 languages; the page has two. */
function twoLanguages(): Plugin {
  return {
    name: 'two-languages',
    enforce: 'pre',
    load(id) {
      const language = /[\\/]intl[\\/].*[\\/]([a-z]{2}-[A-Z]{2})\.m?js$/.exec(id)?.[1];
      return language === undefined || language === 'en-US' || language === 'zh-CN' ? undefined : 'export default {};';
    },
  };
}

function compressed(): Plugin {
  return {
    name: 'compressed',
    writeBundle() {
      const assets = join(target, 'assets');
      for (const name of readdirSync(assets)) {
        if (!/\.(?:js|css|svg)$/.test(name)) continue;
        const content = readFileSync(join(assets, name));
        const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
        writeFileSync(join(assets, `${name}.br`), brotliCompressSync(content, { params: size }));
        writeFileSync(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}
