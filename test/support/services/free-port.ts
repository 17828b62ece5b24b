// A port that nobody listens on, of those that the system gives to nobody by itself: else a connection, or a server on
// any port, of another test takes it before it is used.
import { createServer } from 'node:net';

/** Below all ranges that systems choose from (Linux: 32768 and up). */
const [first, last] = [10_000, 32_767];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * (last - first + 1));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
