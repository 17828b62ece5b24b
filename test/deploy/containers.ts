// A container of the compose file or of a Kubernetes overlay, and how it runs here as a plain process: its own command,
// user, environment and files, in a directory that stands for the roots of all of them.
import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Program, run } from '../faults/processes.js';
import { type ProgramEnd, runProgram } from '../support/run-program.js';
import {
  type ComposeFile,
  containersOf,
  type Manifest,
  podsOf,
  root,
  seconds,
  type Settings,
  settingsOf,
  withDefaults,
} from './deployment-files.js';

export interface ContainerPlan {
  command: readonly string[];
  settings: Settings;
  uid: number;
  /** Of compose. */
  healthCommand?: readonly string[];
  /** Of Kubernetes: paths. */
  probes: readonly string[];
  graceMs: number;
}

export function composePlan({ services }: ComposeFile, name: string): ContainerPlan {
  const { command = [], environment = {}, user = '0', healthcheck, stop_grace_period = '10s' } = services[name]!;
  return {
    command,
    settings: withDefaults(environment),
    uid: Number(user.split(':')[0]),
    ...(healthcheck === undefined ? {} : { healthCommand: healthcheck.test.slice(1) }),
    probes: [],
    graceMs: seconds(stop_grace_period) * 1000,
  };
}

/** A container of the pods that `deployment` makes. */
export function kubernetesPlan(manifests: readonly Manifest[], deployment: string, name: string): ContainerPlan {
  const pod = podsOf(manifests).get(deployment)!;
  const { spec } = pod;
  const container = containersOf(pod).find((each) => each.name === name)!;
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  return {
    command: container.args ?? [],
    settings: settingsOf(manifests, container),
    uid: spec.securityContext['runAsUser'] as number,
    probes: probes.flatMap((probe) => (probe?.httpGet === undefined ? [] : [probe.httpGet.path])),
    graceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1000,
  };
}

/** The files of all containers of one deployment. */
export class ContainerFiles {
  readonly path = mkdtempSync(join(tmpdir(), 'signalbox-containers-'));

  constructor() {
    // What the image has in /app; nobody but root may write there.
    mkdirSync(this.inside('/app'));
    for (const name of ['dist', 'config']) symlinkSync(join(root, name), this.inside(`/app/${name}`));
  }

  inside(path: string): string {
    return join(this.path, path);
  }

  /** An empty directory that belongs to the containers' user. */
  volume(path: string, uid: number): void {
    mkdirSync(this.inside(path), { recursive: true, mode: 0o700 });
    this.own(path, uid);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(this.inside(path)), { recursive: true });
    writeFileSync(this.inside(path), text, { mode: 0o444 });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  private own(path: string, uid: number): void {
    if (process.getuid?.() === 0) chownSync(this.inside(path), uid, uid);
  }
}

/** Starts it; `more` takes the place of what differs here: ports. */
export function startContainer(files: ContainerFiles, plan: ContainerPlan, more: Settings = {}): Program {
  return run(commandLine(files, plan, plan.command, more));
}

/** Runs another command inside it, as health checks are. */
export function inContainer(
  files: ContainerFiles,
  plan: ContainerPlan,
  command: readonly string[],
  more: Settings = {},
): Promise<ProgramEnd> {
  const [program, ...args] = commandLine(files, plan, command, more);
  return runProgram(program!, args);
}

function commandLine(
  files: ContainerFiles,
  { settings, uid }: ContainerPlan,
  command: readonly string[],
  more: Settings,
): string[] {
  const local = (text: string) =>
    text.replaceAll(/\/(?:app|run\/secrets|mcp_workspaces|var\/lib|etc\/redis)\b/g, (path) => files.inside(path));
  const environment = { PATH: process.env['PATH'] ?? '', ...settings, ...more };
  const variables = Object.entries(environment).map(
    ([name, value]) => `${name}=${name === 'PATH' ? value : local(value)}`,
  );
  const program = command.map((word) => (word === 'node' ? process.execPath : local(word)));
  return ['env', '-i', `--chdir=${files.inside('/app')}`, ...variables, ...asUser(uid), ...program];
}

/** As root the container's own user, who may read a checkout that only root may enter, and write nothing of it. */
function asUser(uid: number): string[] {
  if (process.getuid?.() !== 0) return [];
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs'];
  return [
    'setpriv',
    ...user,
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_read_search',
    '--ambient-caps=+dac_read_search',
  ];
}
