// What the manifests expect around them: a namespace of any name, a Prometheus and a Grafana, a PostgreSQL with enough
// connections.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { verifies } from '../verifies.js';
import {
  anySecret,
  buildOverlay,
  builtOverlay,
  overlays,
  podsOf,
  readText,
  readYaml,
  root,
  settingsOf,
} from './deployment-files.js';
import { withTools } from './tools.js';

withTools(['kubectl'], () => {
  verifies('deployment.kubernetes-consistent', 'in another namespace', () => {
    for (const overlay of overlays) {
      const all = buildOverlay(overlay, 'elsewhere');
      for (const { kind, metadata } of all) {
        expect(metadata.namespace ?? metadata.name, `${kind} ${metadata.name}`).toBe('elsewhere');
      }
      for (const [name, more] of [
        ['gateway', overlay === 'prod' ? ['signalbox.example.com'] : []],
        ['chimech', []],
      ] as const) {
        const [container] = podsOf(all).get(`signalbox-${name}`)!.spec.containers;
        const config = readConfig({ environment: settingsOf(all, container!), readSecretFile: anySecret });
        const service = `signalbox-${name}`;
        const own = ['', '.elsewhere', '.elsewhere.svc', '.elsewhere.svc.cluster.local'].map((end) => service + end);
        expect(config.server.allowed_hosts).toEqual([...own, ...more]);
      }
      const scaled = all.filter(({ kind }) => kind === 'ScaledObject');
      const queries = scaled.map(
        ({ spec }) => (spec['triggers'] as { metadata: { query: string } }[])[0]!.metadata.query,
      );
      for (const query of queries) expect(query).toContain('{namespace="elsewhere"}');
      expect(queries).toHaveLength(overlay === 'prod' ? 1 : 0);
    }
  });

  verifies('deployment.kubernetes-consistent', 'the dashboards and the alerts of config', () => {
    const all = builtOverlay('prod');
    const dashboards = all.find(({ metadata }) => metadata.name === 'signalbox-dashboards');
    const files = readdirSync(join(root, 'config/grafana/dashboards')).sort();
    expect(Object.keys(dashboards?.data ?? {}).sort()).toEqual(files);
    // `kubectl apply` keeps the whole in an annotation, which has a limit.
    expect(JSON.stringify(dashboards).length).toBeLessThan(256 * 1024);
    const { groups } = readYaml('config/prometheus/alerts.yml') as { groups: unknown };
    expect(all.find(({ kind }) => kind === 'PrometheusRule')?.spec).toEqual({ groups });
  });

  verifies('deployment.kubernetes-consistent', 'every service of ours is scraped; PostgreSQL is asked by TCP', () => {
    const [monitor] = builtOverlay('prod').filter(({ kind }) => kind === 'ServiceMonitor');
    const { endpoints } = monitor!.spec as { endpoints: { port: string }[] };
    const services = builtOverlay('prod').filter(({ kind }) => kind === 'Service');
    expect(services.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'])).toEqual(
      services.map(() => 'signalbox'),
    );
    for (const { metadata, spec } of services) {
      const ports = (spec['ports'] as { name: string }[]).map(({ name }) => name);
      expect(ports, metadata.name).toContain(endpoints[0]!.port);
    }
    const { spec } = podsOf(builtOverlay('dev')).get('postgres')!;
    const { startupProbe, readinessProbe, livenessProbe } = spec.containers[0]!;
    for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
      expect(probe).toMatchObject({ exec: { command: expect.arrayContaining(['--host', '127.0.0.1']) as string[] } });
    }
    const memory = spec.volumes.filter((volume) => JSON.stringify(volume).includes('"Memory"')).map(({ name }) => name);
    expect(spec.containers[0]!.volumeMounts).toContainEqual({ name: memory[0], mountPath: '/dev/shm' });
  });

  verifies('deployment.kubernetes-consistent', 'as many connections as the documentation says', () => {
    const all = builtOverlay('prod');
    const most = { gateway: 0, worker: 0 };
    for (const { kind, spec } of all) {
      if (kind === 'HorizontalPodAutoscaler') most.gateway = spec['maxReplicas'] as number;
      if (kind === 'ScaledObject') most.worker = spec['maxReplicaCount'] as number;
    }
    const pool = (name: string) => {
      const [container] = podsOf(all).get(`signalbox-${name}`)!.spec.containers;
      return Number(settingsOf(all, container!)['DATABASE_POOL_SIZE']);
    };
    // A gateway has one more while it drops old months of the audit.
    const connections = most.gateway * (pool('gateway') + 1) + most.worker * pool('worker');
    const documented = /(\d+) connections at the most, and (\d+) while/.exec(
      readText('docs/deployment.md').replaceAll('\n', ' '),
    );
    expect(documented?.slice(1).map(Number)).toEqual([connections, 2 * connections]);
    // Of a PostgreSQL whose settings nobody has changed, three are for superusers.
    expect(connections).toBeLessThanOrEqual(97);
  });
});
