export const deploymentRequirements = {
  'deployment.alerts': 'each alert fires when it should and not otherwise, and names a page of the runbooks',
  'deployment.audit-dashboard':
    'every query of the dashboard of the audit is answered, to a role that reads nothing else',
  'deployment.checklist':
    'each line of the deployment checklist has a command that checks it, of things that there are',
  'deployment.compose-consistent': 'what a service of the compose file names is there',
  'deployment.compose-hardened':
    'no container is root or may write its image or gain privileges; only gateway, Chimech and Grafana are published, on loopback',
  'deployment.compose-logs':
    'what containers write is bounded on the disk of the host, and the collector of the profile logs sends it to Loki',
  'deployment.alerts-sent': 'alerts are sent to a webhook or by e-mail, as the environment says',
  'deployment.compose-prepared':
    'before all else each service of the compose file is given the secrets and the configuration that it reads, and no others',
  'deployment.compose-settings': 'the compose file sets known settings, no literal secret, and time enough to stop',
  'deployment.compose-valid': 'docker-compose.yml is valid',
  'deployment.dashboards': 'every query of a dashboard, an alert and an autoscaler is of metrics and labels that exist',
  'deployment.image': 'the image runs as an ordinary user, without the tools and packages of development',
  'deployment.kubernetes-consistent': 'what a manifest names is there, and selectors select',
  'deployment.kubernetes-hardened': 'every pod is of the restricted profile, and no traffic is let through unsaid',
  'deployment.kubernetes-settings': 'the manifests set known settings and time enough to stop',
  'deployment.kubernetes-valid': 'the overlays build, and what they build is valid and has no unknown field',
  'deployment.monitoring-valid': 'the scrape configuration and the alert rules are valid',
  'deployment.processes': 'the commands of the containers start, are healthy, run a tool and stop within their time',
  'deployment.secrets-made': 'secrets are made at random, once, readable by their owner alone',
  'deployment.stop-quiet-connections': 'a connection on which nothing is being asked does not hold up a stop',
} as const;
