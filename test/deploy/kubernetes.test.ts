import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { closingMs } from '#libs/process/run-process.js';
import { verifies } from '../verifies.js';
import {
  anySecret,
  builtOverlay,
  containersOf,
  type Manifest,
  overlays,
  podsOf,
  readText,
  settingsOf,
  unknownSettings,
} from './deployment-files.js';
import { withTools } from './tools.js';
import { fieldProblems, valueProblems } from './validate-manifests.js';

interface IngressSpec {
  tls: { hosts: string[] }[];
  rules: { host: string; http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] } }[];
}

withTools(['kubectl'], () => {
  const names = (all: readonly Manifest[], kind: string) =>
    all.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);

  verifies('deployment.kubernetes-valid', 'values by the JSON schemas, fields by the types of the API', async () => {
    const all = overlays.flatMap(builtOverlay);
    expect(await valueProblems(all)).toEqual([]);
    const unknown = { ...all.find(({ kind }) => kind === 'Deployment')!, speck: {} };
    const wrong = { ...unknown, speck: undefined, spec: { replicas: 'two' } };
    expect(await valueProblems([wrong])).toHaveLength(1);
    expect(fieldProblems([...all, unknown])).toEqual([expect.stringContaining('\'"speck"\' does not exist')]);
  });

  verifies('deployment.kubernetes-consistent', 'secrets, settings, claims, services, scale targets', () => {
    for (const overlay of overlays) {
      const all = builtOverlay(overlay);
      const given = overlay === 'prod' ? ['signalbox-connections', 'signalbox-chimech', 'signalbox-audit'] : [];
      const there = (kind: string, name: string | undefined) =>
        name === undefined
          ? []
          : [...names(all, kind), ...(kind === 'Secret' ? given : [])].includes(name)
            ? []
            : [name];
      for (const [pod, template] of podsOf(all)) {
        const { spec } = template;
        const missing = [
          ...spec.volumes.flatMap(({ secret, configMap, persistentVolumeClaim }) => [
            ...there('Secret', secret?.secretName),
            ...there('ConfigMap', configMap?.name),
            ...there('PersistentVolumeClaim', persistentVolumeClaim?.claimName),
          ]),
          ...containersOf(template).flatMap(({ envFrom = [], env = [] }) => [
            ...envFrom.flatMap(({ configMapRef, secretRef }) => [
              ...there('ConfigMap', configMapRef?.name),
              ...(secretRef?.optional === true ? [] : there('Secret', secretRef?.name)),
            ]),
            ...env.flatMap(({ valueFrom }) => [
              ...there('ConfigMap', valueFrom?.configMapKeyRef?.name),
              // Optional, yet there in a cluster of one's own.
              ...(overlay === 'prod' && valueFrom?.secretKeyRef?.optional === true
                ? []
                : there('Secret', valueFrom?.secretKeyRef?.name)),
            ]),
          ]),
        ];
        expect(missing, `${overlay}: what ${pod} refers to`).toEqual([]);
        const volumes = spec.volumes.map(({ name }) => name).concat('data');
        const mounted = containersOf(template).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
        expect(mounted.filter((name) => !volumes.includes(name), pod)).toEqual([]);
      }
      for (const { kind, metadata, spec } of all) {
        expect(metadata.namespace ?? metadata.name, `${kind} ${metadata.name}`).toBe('signalbox');
        const target = (spec?.['scaleTargetRef'] as { name: string } | undefined)?.name;
        expect(there('Deployment', target), `${kind} ${metadata.name}`).toEqual([]);
        // A Job cannot be applied again after a change.
        expect(kind).not.toBe('Job');
        if (kind === 'Deployment' && overlay === 'prod') {
          const scaled = all.some(
            ({ spec }) => (spec?.['scaleTargetRef'] as { name?: string })?.name === metadata.name,
          );
          expect(Object.hasOwn(spec, 'replicas'), metadata.name).toBe(!scaled);
        }
        // The pods that read it restart when it changes.
        if (kind === 'ConfigMap' && metadata.name !== 'signalbox-dashboards') {
          expect(metadata.name).toMatch(/^(?:signalbox-(?:settings|chimech)|redis)-[a-z0-9]{10}$/);
        }
      }
    }
    expect(names(builtOverlay('prod'), 'Secret')).toEqual([]);
    expect(names(builtOverlay('prod'), 'StatefulSet')).toEqual([]);
    const maps = builtOverlay('dev').filter(({ kind }) => kind === 'ConfigMap');
    const redis = maps.find(({ metadata }) => metadata.name.startsWith('redis-'));
    expect(redis?.data?.['redis.conf']).toBe(readText('config/redis/redis.conf'));
  });

  verifies('deployment.kubernetes-consistent', 'selectors select what they should, ports are named', () => {
    for (const overlay of overlays) {
      const all = builtOverlay(overlay);
      const pods = podsOf(all);
      const selected = (labels: Record<string, string>) =>
        [...pods.values()].filter(({ metadata }) =>
          Object.entries(labels).every(([key, value]) => metadata.labels[key] === value),
        );
      for (const { kind, metadata, spec } of all) {
        const selector = selectorOf(kind, spec);
        if (selector === undefined) continue;
        const found = selected(selector);
        expect(found.length, `${overlay}: ${kind} ${metadata.name} selects`).toBeGreaterThan(0);
        if (kind !== 'NetworkPolicy') expect(found, `${kind} ${metadata.name}`).toHaveLength(1);
        for (const { targetPort } of (kind === 'Service' ? spec['ports'] : []) as { targetPort: string }[]) {
          const ports = found.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports));
          expect(ports.map(({ name }) => name)).toContain(targetPort);
        }
      }
    }
  });

  verifies('deployment.kubernetes-hardened', 'the restricted profile, probes, bounds', () => {
    for (const overlay of overlays) {
      const all = builtOverlay(overlay);
      const namespace = all.find(({ kind }) => kind === 'Namespace');
      expect(namespace?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
      for (const [pod, template] of podsOf(all)) {
        const { spec } = template;
        expect(spec.automountServiceAccountToken, pod).toBe(false);
        expect(spec.securityContext, pod).toMatchObject({
          runAsNonRoot: true,
          runAsUser: expect.any(Number) as number,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const container of containersOf(template)) {
          expect(container.securityContext, pod).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(container.resources, pod).toHaveProperty('limits.memory');
          expect(container.resources, pod).toHaveProperty('requests.cpu');
          expect(container.image, pod).toMatch(/:\d+\.\d+/);
        }
      }
      for (const name of ['gateway', 'worker', 'chimech']) {
        const [container] = podsOf(all).get(`signalbox-${name}`)!.spec.containers;
        expect(container?.startupProbe?.httpGet).toEqual({ path: '/health/live', port: 'http' });
        expect(container?.livenessProbe?.httpGet).toEqual({ path: '/health/live', port: 'http' });
        expect(container?.readinessProbe?.httpGet).toEqual({ path: '/health/ready', port: 'http' });
        expect(names(all, 'PodDisruptionBudget')).toContain(`signalbox-${name}`);
        // What docs/performance.md has measured, and some air: a node that is short of memory evicts who has more.
        const memory = container?.resources?.requests['memory'];
        expect(Number(/^(\d+)Mi$/.exec(String(memory))?.[1]), name).toBeGreaterThanOrEqual(
          name === 'chimech' ? 128 : 320,
        );
      }
    }
  });

  verifies('deployment.kubernetes-hardened', 'denied by default; a worker reaches no private address', () => {
    for (const overlay of overlays) {
      const policies = builtOverlay(overlay).filter(({ kind }) => kind === 'NetworkPolicy');
      const named = (name: string) => policies.find(({ metadata }) => metadata.name === name)?.spec;
      expect(named('default-deny')).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
      const [rule] = named('worker-web')!['egress'] as { to: { ipBlock: { cidr: string; except: string[] } }[] }[];
      const [four, six] = rule!.to.map(({ ipBlock }) => ipBlock.except);
      expect(four).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']));
      expect(six).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10', '::ffff:0:0/96', '64:ff9b::/96']));
      const portsOf = (policy: string) =>
        (named(policy)!['ingress'] as { ports: { port: string | number }[] }[]).flatMap(({ ports }) =>
          ports.map(({ port }) => port),
        );
      // Monitoring sees the metrics and nothing else; clients do not see them.
      expect(portsOf('monitoring')).toEqual(['metrics']);
      expect(['gateway-clients', 'chimech', 'gateway-from-chimech'].flatMap(portsOf)).toEqual(['http', 'http', 'http']);
      for (const name of ['gateway', 'worker', 'chimech']) {
        const [container] = podsOf(builtOverlay(overlay)).get(`signalbox-${name}`)!.spec.containers;
        const [metrics] = container!.ports!.filter((port) => port.name === 'metrics');
        expect(settingsOf(builtOverlay(overlay), container!)['METRICS_PORT']).toBe(String(metrics?.containerPort));
      }
    }
    const policies = builtOverlay('prod').filter(({ kind }) => kind === 'NetworkPolicy');
    const stores = policies.find(({ metadata }) => metadata.name === 'signalbox-to-stores')!.spec['egress'];
    const [rule] = stores as [{ to: { ipBlock: { cidr: string } }[]; ports: { port: number }[] }];
    expect(rule.to.map(({ ipBlock }) => ipBlock.cidr)).toContain('fc00::/7');
    // PostgreSQL, Redis, Redis with TLS, sentinels.
    expect(rule.ports.map(({ port }) => port)).toEqual([5432, 6379, 6380, 26379]);
  });

  verifies(
    'deployment.kubernetes-consistent',
    'the Ingress leads to a port of a service, at a host that gateways accept',
    () => {
      const all = builtOverlay('prod');
      const { rules, tls } = all.find(({ kind }) => kind === 'Ingress')!.spec as unknown as IngressSpec;
      const [gateway] = podsOf(all).get('signalbox-gateway')!.spec.containers;
      const hosts = settingsOf(all, gateway!)['SERVER_ALLOWED_HOSTS']!.split(',');
      for (const { host, http } of rules) {
        expect(hosts).toContain(host);
        expect(tls.flatMap((each) => each.hosts)).toContain(host);
        for (const { backend } of http.paths) {
          const service = all.find(
            ({ kind, metadata }) => kind === 'Service' && metadata.name === backend.service.name,
          );
          const ports = service?.spec['ports'] as { name: string }[];
          expect(ports.map(({ name }) => name)).toContain(backend.service.port.name);
        }
      }
    },
  );

  verifies('deployment.kubernetes-consistent', 'an autoscaler that every KEDA takes, and that only adds', () => {
    const scaled = builtOverlay('prod').find(({ kind }) => kind === 'ScaledObject')!.spec;
    const triggers = scaled['triggers'] as { metricType: string }[];
    expect(triggers.map(({ metricType }) => metricType)).toEqual(['Value']);
    expect(scaled).not.toHaveProperty('fallback');
  });

  verifies('deployment.kubernetes-settings', 'known settings, secrets by file, time to stop', () => {
    for (const overlay of overlays) {
      const all = builtOverlay(overlay);
      const ours = [...podsOf(all)]
        .filter(([name]) => name.startsWith('signalbox-'))
        .flatMap(([, template]) => containersOf(template).map((container) => ({ spec: template.spec, container })));
      for (const { spec, container } of ours) {
        const { name } = container;
        const settings = settingsOf(all, container);
        // Parts of another value.
        const parts = ['NAMESPACE', 'MORE_HOSTS'];
        expect(unknownSettings(Object.keys(settings).filter((key) => !parts.includes(key))), name).toEqual([]);
        // An address without a password is no secret.
        const open = Object.keys(settings).filter((key) => /(?:TOKEN|URL|KEY)$/.test(key));
        expect(open.filter((key) => !['CHIMECH_GATEWAY_URL', 'SERVER_PUBLIC_URL'].includes(key))).toEqual([]);
        const config = readConfig({ environment: settings, readSecretFile: anySecret });
        for (const path of Object.values(settings).filter((value) => value.startsWith('/run/secrets/'))) {
          const mounts = container.volumeMounts!.map(({ mountPath }) => mountPath);
          expect(
            mounts.some((mount) => path.startsWith(`${mount}/`)),
            path,
          ).toBe(true);
        }
        if (container.lifecycle === undefined) continue;
        const preStop = Number(container.lifecycle.preStop.exec.command.at(-1));
        const needed = preStop + (config.server.shutdown_grace_ms + closingMs) / 1000;
        expect(spec.terminationGracePeriodSeconds, name).toBeGreaterThan(needed);
      }
      const containers = ['chimech', 'gateway', 'migrate', 'migrate', 'worker'];
      expect(ours.map(({ container }) => container.name).sort()).toEqual(containers);
    }
  });
});

function selectorOf(kind: string, spec: Record<string, unknown>): Record<string, string> | undefined {
  if (kind === 'Service') return spec['selector'] as Record<string, string>;
  const selector = spec?.[kind === 'NetworkPolicy' ? 'podSelector' : 'selector'] as
    { matchLabels?: object } | undefined;
  return kind === 'ServiceMonitor' ? undefined : (selector?.matchLabels as Record<string, string> | undefined);
}
