// The health check of a container: asks the process beside it whether it is ready, with no program but Node.
// Exit codes: 0 it can serve, 1 it cannot or does not answer, 2 not asked for one of ours.
import { loadConfig } from '#libs/config/load-config.js';
import { localUrl } from '#libs/process/local-url.js';

const deadlineMs = 4_000;
const [service] = process.argv.slice(2);
if (service === 'gateway' || service === 'worker' || service === 'chimech') {
  try {
    const { server, chimech } = loadConfig();
    const ports = { gateway: server.port, worker: server.worker_port, chimech: chimech.port };
    const url = `${localUrl(server.host, ports[service])}/health/ready`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(deadlineMs) });
    const { status } = (await answer.json()) as { status?: unknown };
    console.log(`${service}: ${String(status)}`);
    process.exitCode = answer.ok ? 0 : 1;
  } catch (error) {
    console.error(`${service} does not answer: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
} else {
  console.error('Usage: check-health gateway|worker|chimech');
  process.exitCode = 2;
}
