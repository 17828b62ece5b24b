import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';
import { openAuditedDatabase, withoutMacros } from './audited-database.js';
import { composeFile, makeSecrets, readText, readYaml, root } from './deployment-files.js';
import { atOneInterval, exportedMetrics, problemsOf } from './queries.js';
import { withTools } from './tools.js';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

interface Panel {
  id: number;
  title: string;
  datasource: { uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr?: string; rawSql?: string }[];
}

interface RuleFile {
  groups: { rules: Rule[] }[];
}

interface RuleTests {
  tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
}

interface DataSources {
  datasources: { uid: string }[];
}

interface AuditSource {
  datasources: [{ user: string; jsonData: { database: string } }];
}

interface ScrapeConfig {
  scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
}

const { groups } = readYaml('config/prometheus/alerts.yml') as RuleFile;
const rules = groups.flatMap((group) => group.rules);
const folder = 'config/grafana/dashboards';
const dashboards = readdirSync(join(root, folder))
  .sort()
  .map((name) => ({
    name,
    ...(JSON.parse(readText(`${folder}/${name}`)) as { uid: string; panels: Panel[] }),
  }));
const targets = dashboards.flatMap(({ name, panels }) =>
  panels.flatMap((panel) => panel.targets.map((target) => ({ where: `${name}: ${panel.title}`, ...target }))),
);
const panelQueries = targets.flatMap(({ where, expr: query }) => (query === undefined ? [] : [{ where, query }]));
const auditQueries = targets.flatMap(({ where, rawSql: query }) => (query === undefined ? [] : [{ where, query }]));
const scaled = parseAllDocuments(readText('k8s/overlays/prod/autoscaling.yaml')).flatMap((document) => {
  const { spec } = document.toJS() as { spec: { triggers?: { metadata: { query: string } }[] } };
  return (spec.triggers ?? []).map(({ metadata }) => ({ where: 'autoscaling.yaml', query: metadata.query }));
});
const promtool = async (...args: string[]) => {
  const { code, stdout, stderr } = await runProgram('promtool', args);
  return { code, output: `${stdout}${stderr}` };
};

verifies('deployment.dashboards', 'names of metrics and labels against what a process exports', async () => {
  const exported = await exportedMetrics();
  const alerts = rules.map(({ alert, expr }) => ({ where: alert, query: expr }));
  const all = [...panelQueries, ...alerts, ...scaled];
  const found = all.map(({ where, query }) => [where, problemsOf(query, exported)]);
  expect(found.filter(([, problems]) => problems!.length > 0)).toEqual([]);
  expect(all.length).toBeGreaterThan(50);
  expect(scaled).toHaveLength(1);
  expect(problemsOf('sum by (colour) (rate(signalbox_sessionz{tool="x"}[5m]))', exported)).toEqual([
    'no metric signalbox_sessionz',
    'no label colour',
    'no label tool',
  ]);
  expect(problemsOf('sum(', exported)).not.toEqual([]);
});

verifies(
  'deployment.dashboards',
  'panels have an id and a place of their own and the data source that is there',
  () => {
    const folderOfSources = 'config/grafana/provisioning/datasources';
    const provisioned = readdirSync(join(root, folderOfSources)).flatMap(
      (name) => (readYaml(`${folderOfSources}/${name}`) as DataSources).datasources,
    );
    const sources = provisioned.map(({ uid }) => uid);
    expect(dashboards.map(({ name }) => name)).toEqual([
      'audit.json',
      'chimech.json',
      'models.json',
      'overview.json',
      'tools.json',
      'workers.json',
    ]);
    for (const { name, panels } of dashboards) {
      expect(new Set(panels.map(({ id }) => id)).size, name).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
      );
      expect(new Set(cells).size, `${name}: panels overlap`).toBe(cells.length);
      for (const { title, datasource, gridPos, targets: asked } of panels) {
        expect(sources, title).toContain(datasource.uid);
        for (const { expr, rawSql } of asked) {
          expect([expr !== undefined, rawSql !== undefined], title).toEqual(
            datasource.uid === 'audit' ? [false, true] : [true, false],
          );
        }
        expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      }
    }
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
    const home = composeFile().services['grafana']!.environment!['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'];
    expect(dashboards.map(({ name }) => `/var/lib/signalbox-dashboards/${name}`)).toContain(home);
  },
);

verifies('deployment.audit-dashboard', 'PostgreSQL answers each query, to the role of its data source', async () => {
  const { user, jsonData } = (readYaml('config/grafana/provisioning/datasources/audit.yml') as AuditSource)
    .datasources[0];
  const secrets = makeSecrets(mkdtempSync(join(tmpdir(), 'signalbox-secrets-')));
  try {
    const made = (name: string) => new URL(readFileSync(join(secrets, name), 'utf8').trim());
    const reader = made('database_reader_url');
    expect([reader.username, reader.pathname]).toEqual([user, `/${jsonData.database}`]);
  } finally {
    rmSync(secrets, { recursive: true });
  }
  const audited = await openAuditedDatabase();
  try {
    expect(auditQueries.length).toBeGreaterThan(8);
    for (const { where, query } of auditQueries) {
      const { rows } = await audited.read(withoutMacros(query));
      expect(rows.length, where).toBeGreaterThan(0);
    }
    await expect(audited.read('select * from runs')).rejects.toThrow(/permission denied/);
    await expect(audited.read('select colour from audit_events')).rejects.toThrow(/does not exist/);
  } finally {
    await audited.close();
  }
});

verifies('deployment.alerts', 'each has its cases and a page of the runbooks', () => {
  const pages = [...readText('docs/runbooks.md').matchAll(/^## (.+)$/gm)].map(([, title]) =>
    title!.toLowerCase().replaceAll(' ', '-'),
  );
  const { tests } = readYaml('config/prometheus/alerts.test.yml') as RuleTests;
  const cases = tests.flatMap((test) => test.alert_rule_test);
  for (const { alert, annotations } of rules) {
    const [file, page] = annotations.runbook_url.split('#');
    expect(file, alert).toBe('docs/runbooks.md');
    expect(pages, alert).toContain(page);
    const own = cases.filter(({ alertname }) => alertname === alert);
    const fires = own.map(({ exp_alerts = [] }) => exp_alerts.length > 0);
    expect(fires, `${alert} has a case in which it fires and one in which it does not`).toEqual(
      expect.arrayContaining([true, false]),
    );
  }
});

verifies(
  'deployment.monitoring-valid',
  'what is scraped are services of the compose file, by the names of the alerts',
  () => {
    const { services } = composeFile();
    const { scrape_configs: jobs } = readYaml('config/prometheus/prometheus.yml') as ScrapeConfig;
    for (const { job_name, dns_sd_configs } of jobs) {
      const [{ names, port }] = dns_sd_configs as [{ names: string[]; port: number }];
      expect([`signalbox-${names[0]}`, names.length]).toEqual([job_name, 1]);
      const { PORT, SERVER_WORKER_PORT, CHIMECH_PORT } = services[names[0]!]!.environment!;
      expect(String(port)).toBe(PORT ?? SERVER_WORKER_PORT ?? CHIMECH_PORT);
    }
    const asked = [...rules, ...panelQueries.map(({ query }) => ({ expr: query }))]
      .flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)])
      .map(([, job]) => job);
    expect(new Set(asked)).toEqual(new Set(jobs.map(({ job_name }) => job_name)));
  },
);

withTools(['promtool'], () => {
  verifies('deployment.monitoring-valid', 'promtool reads configuration, rules and every query', async () => {
    const ok = (path: string) => join(root, 'config/prometheus', path);
    const directory = mkdtempSync(join(tmpdir(), 'signalbox-rules-'));
    try {
      const queries = panelQueries.map(({ query }, index) => ({
        record: `panel:${index}`,
        expr: atOneInterval(query),
      }));
      const path = join(directory, 'panels.yml');
      writeFileSync(path, stringify({ groups: [{ name: 'panels', rules: queries }] }));
      const runs = await Promise.all([
        promtool('check', 'config', '--syntax-only', ok('prometheus.yml')),
        promtool('check', 'rules', ok('alerts.yml')),
        promtool('check', 'rules', path),
      ]);
      expect(runs.filter(({ code }) => code !== 0).map(({ output }) => output)).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  verifies('deployment.alerts', 'promtool test rules', async () => {
    const { code, output } = await promtool('test', 'rules', join(root, 'config/prometheus/alerts.test.yml'));
    expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
