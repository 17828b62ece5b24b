// The configuration of the Alertmanager of docker-compose.yml, from the variables ALERT_… of .env: a webhook, e-mail, or both.

/** Of a JSON file, which YAML reads. Without a variable, alerts are shown by its page and sent to nobody. */
export function alertmanagerConfig(environment) {
  const { ALERT_WEBHOOK_URL: url, ALERT_EMAIL_TO: to } = environment;
  const receiver = {
    name: 'someone',
    ...(url ? { webhook_configs: [{ url, send_resolved: true }] } : {}),
    ...(to ? { email_configs: [{ ...mailFrom(environment), to, send_resolved: true }] } : {}),
  };
  return {
    route: {
      receiver: receiver.name,
      group_by: ['alertname'],
      group_wait: '30s',
      group_interval: '5m',
      repeat_interval: '4h',
    },
    receivers: [receiver],
  };
}

function mailFrom({ ALERT_EMAIL_FROM: from, ALERT_SMTP_HOST: smarthost, ALERT_SMTP_USER: user, ...more }) {
  if (!smarthost) throw new Error('ALERT_EMAIL_TO needs ALERT_SMTP_HOST, such as smtp.example.com:587');
  return {
    from: from || user || 'signalbox@localhost',
    smarthost,
    // A relay that asks for no user is one of the own network, which seldom has a certificate.
    ...(user ? { auth_username: user, auth_password: more.ALERT_SMTP_PASSWORD ?? '' } : { require_tls: false }),
  };
}
