// The deployment's own files as tests read them: the compose file, the Kubernetes overlays as kustomize builds them, with
// secrets that the script makes. Nothing is written into the checkout.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { environmentSettings, knownProviders } from '#libs/config/environment.js';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export type Settings = Record<string, string>;

export interface ComposeService {
  image: string;
  user?: string;
  command?: string[];
  environment?: Settings;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
  volumes?: (string | PreparedFiles)[];
  networks?: string[];
  build?: { args: Settings };
  pull_policy?: string;
  cap_drop?: string[];
  security_opt?: string[];
  read_only?: boolean;
  restart?: string;
  stop_grace_period?: string;
  profiles?: string[];
  logging?: { driver: string; options: Settings };
}

/** A directory of the volume that the service `prepare` fills. */
export interface PreparedFiles {
  type: 'volume';
  source: string;
  target: string;
  read_only: true;
  volume: { subpath: string; nocopy: true };
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean }>;
}

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');
export const readYaml = (path: string): unknown => parse(readText(path), { merge: true });
export const composeFile = (): ComposeFile => readYaml('docker-compose.yml') as ComposeFile;

/** What `docker compose` mounts into a service of what `prepare` made, by the directory in its container. */
export function preparedFiles({ volumes = [] }: ComposeService): Map<string, string> {
  const mounts = volumes.filter((volume) => typeof volume !== 'string');
  return new Map(mounts.map(({ target, volume }) => [target, volume.subpath]));
}

export const namedVolumes = ({ volumes = [] }: ComposeService): string[] =>
  volumes.filter((volume) => typeof volume === 'string');

/** Makes all secrets in `directory` with the script that users run. */
export function makeSecrets(directory: string): string {
  execFileSync(process.execPath, [join(root, 'scripts/make-secrets.mjs'), directory]);
  return directory;
}

/** Runs the service `prepare`, as somebody with a strict umask. */
export function prepare(directory: string, more: Settings = {}): void {
  const { command, environment } = composeFile().services['prepare']!;
  const program = [process.execPath, join(root, command![1]!), directory];
  execFileSync('sh', ['-c', 'umask 077 && exec "$0" "$@"', ...program], {
    env: { ...withDefaults(environment!), ...more },
    stdio: 'pipe',
  });
}

/** By service: the names of the secrets that it is given. */
export function secretsOfServices(): Record<string, string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-prepared-'));
  try {
    prepare(directory);
    const services = readdirSync(directory).filter((name) => existsSync(join(directory, name, 'secrets')));
    return Object.fromEntries(services.map((name) => [name, readdirSync(join(directory, name, 'secrets'))]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Settings };
  spec: Record<string, unknown>;
  data?: Settings;
}

export const overlays = ['dev', 'prod'] as const;
export type Overlay = (typeof overlays)[number];

/** What `kubectl apply -k` would send, after `namespace` of its kustomization was set to this one. */
export function buildOverlay(overlay: Overlay, namespace = 'signalbox'): Manifest[] {
  const copy = mkdtempSync(join(tmpdir(), 'signalbox-k8s-'));
  try {
    for (const part of ['k8s', 'config/redis', 'config/grafana']) {
      cpSync(join(root, part), join(copy, part), { recursive: true });
    }
    const directory = join(copy, 'k8s/overlays', overlay);
    const path = join(directory, 'kustomization.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^namespace: .*$/m, `namespace: ${namespace}`));
    if (overlay === 'dev') makeSecrets(join(directory, 'secrets'));
    const text = execFileSync('kubectl', ['kustomize', directory], { encoding: 'utf8', timeout: 30_000 });
    return parseAllDocuments(text).map((document) => unfolded(document.toJS() as Manifest));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const built = new Map<Overlay, Manifest[]>();

/** As `buildOverlay`, built once. */
export function builtOverlay(overlay: Overlay): Manifest[] {
  const manifests = built.get(overlay) ?? buildOverlay(overlay);
  built.set(overlay, manifests);
  return manifests;
}

/** Kustomize breaks long base64 into lines; what the API server is sent has none. */
function unfolded(manifest: Manifest): Manifest {
  if (manifest.kind !== 'Secret') return manifest;
  const data = Object.entries(manifest.data ?? {}).map(([key, text]) => [key, text.replaceAll(/\s/g, '')]);
  return { ...manifest, data: Object.fromEntries(data) as Settings };
}

export interface Probe {
  httpGet?: { path: string; port: string };
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: {
    name: string;
    value?: string;
    valueFrom?: {
      fieldRef?: { fieldPath: string };
      configMapKeyRef?: { name: string; key: string };
      secretKeyRef?: { name: string; key: string; optional?: boolean };
    };
  }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string; optional?: boolean } }[];
  ports?: { name: string; containerPort: number }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop: { exec: { command: string[] } } };
  resources: { requests: Settings; limits: Settings };
  securityContext: Record<string, unknown>;
  volumeMounts?: { name: string; mountPath: string }[];
}

export interface PodTemplate {
  metadata: { labels: Settings };
  spec: {
    automountServiceAccountToken?: boolean;
    terminationGracePeriodSeconds?: number;
    securityContext: Record<string, unknown>;
    initContainers?: Container[];
    containers: Container[];
    volumes: {
      name: string;
      secret?: { secretName: string };
      configMap?: { name: string };
      persistentVolumeClaim?: { claimName: string };
    }[];
  };
}

/** The pods that Deployments, StatefulSets and Jobs make, by the name of what makes them. */
export function podsOf(manifests: readonly Manifest[]): Map<string, PodTemplate> {
  const makers = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind));
  return new Map(makers.map(({ metadata, spec }) => [metadata.name, spec['template'] as PodTemplate]));
}

export const containersOf = ({ spec: { initContainers = [], containers } }: PodTemplate): Container[] => [
  ...initContainers,
  ...containers,
];

/** A container's environment as the kubelet makes it: ConfigMaps, then its own entries, which may name those above them. */
export function settingsOf(manifests: readonly Manifest[], { envFrom = [], env = [] }: Container): Settings {
  const dataOf = (name: string | undefined) =>
    manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)?.data ?? {};
  const namespace = manifests.find(({ kind }) => kind === 'Namespace')!.metadata.name;
  const own: Settings = {};
  for (const { name, value = '', valueFrom } of env) {
    const { fieldRef, configMapKeyRef, secretKeyRef } = valueFrom ?? {};
    // A secret, which is its pod's own affair.
    if (secretKeyRef !== undefined) continue;
    if (fieldRef !== undefined && fieldRef.fieldPath !== 'metadata.namespace') throw new Error(fieldRef.fieldPath);
    own[name] =
      fieldRef !== undefined
        ? namespace
        : configMapKeyRef !== undefined
          ? dataOf(configMapKeyRef.name)[configMapKeyRef.key]!
          : value.replaceAll(/\$\((\w+)\)/g, (text, other: string) => own[other] ?? text);
  }
  return Object.assign({}, ...envFrom.map(({ configMapRef }) => dataOf(configMapRef?.name)), own) as Settings;
}

/** Variables that no setting of ours has. */
export function unknownSettings(names: readonly string[]): string[] {
  const providers = knownProviders.flatMap(({ variable, baseUrlVariable = variable }) => [variable, baseUrlVariable]);
  const known = new Set([...environmentSettings.keys(), ...providers]);
  return names.filter((name) => !known.has(name.replace(/_FILE$/, '')));
}

/** `${NAME:-text}` of a compose file as it is when nothing is set. */
export function withDefaults(environment: Settings): Settings {
  const fill = (text: string) => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(value)]));
}

/** What a file of secrets could hold, by its name. */
export function anySecret(path: string): string {
  if (/redis.url/.test(path)) return 'redis://u:p@h:6379';
  if (/database\w*.url/.test(path)) return 'postgres://u:p@h/d';
  if (/vault.key/.test(path)) return randomBytes(32).toString('base64');
  if (!/signing.key/.test(path)) return 'a secret';
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** Seconds of `35s`, `1m30s`. */
export function seconds(text: string): number {
  const [, minutes = '0', rest = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  return Number(minutes) * 60 + Number(rest);
}
