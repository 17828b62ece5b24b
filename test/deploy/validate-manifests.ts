// Manifests against the published schemas of the Kubernetes API, of KEDA and of the Prometheus operator. The schemas know
// values and what is required; they let unknown fields pass, the types made from them do not: a compiler reads both.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Manifest, root } from './deployment-files.js';

interface Model {
  validate(): void;
}

/** One line a manifest that has a wrong value or lacks one. */
export async function valueProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const problems: string[] = [];
  for (const manifest of manifests) {
    const models = (await import(moduleOf(manifest))) as Record<string, new (data: object) => Model>;
    try {
      new models[manifest.kind]!(manifest).validate();
    } catch (error) {
      problems.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
    }
  }
  return problems;
}

/** The compiler's complaints about them as literals of their types: unknown fields first of all. */
export function fieldProblems(manifests: readonly Manifest[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-manifests-'));
  try {
    const source = manifests.map((manifest, index) => {
      const type = `import('${moduleOf(manifest)}').I${manifest.kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)};\n`;
    });
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'manifests.ts'), source.join(''));
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--types', '', 'manifests.ts'];
    const { stdout, status, error } = spawnSync(process.execPath, [compiler, ...options], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 60_000,
    });
    if (error !== undefined) throw error;
    const problems = stdout.split('\n').filter((line) => line.includes('error TS'));
    return status === 0 || problems.length > 0 ? problems : [stdout];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function moduleOf({ apiVersion, kind }: Manifest): string {
  const [group = ''] = apiVersion.split('/');
  const packages: Record<string, string> = {
    'keda.sh': '@kubernetes-models/keda',
    'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  };
  return `${packages[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}
