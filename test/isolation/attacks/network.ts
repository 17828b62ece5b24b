// Connections of a server that may have none (`network: none`), that may only reach the proxy of the worker, or that may use
// the network but none of the local sockets of this machine.
import { randomBytes } from 'node:crypto';
import { both, type Attack, type Network, type StoppedFrom } from '../attack.js';
import type { Listeners } from '../listeners.js';

const attack = (act: string, title: string, args?: (listeners: Listeners) => (string | number)[]): Attack => ({
  name: `network/${act}`,
  title,
  act,
  ...(args === undefined ? {} : { prepare: ({ listeners }) => ({ args: args(listeners).map(String) }) }),
  stopped: both('confined'),
});
const stoppedFrom = (stopped: StoppedFrom, given: Attack, reason?: string): Attack => ({
  ...given,
  stopped: both(stopped),
  ...(reason === undefined ? {} : { reason }),
});
const datagram = (act: string, title: string): Attack => ({
  ...attack(act, title),
  prepare: ({ listeners }) => {
    const text = randomBytes(8).toString('hex');
    return { args: [listeners.datagramPath, text], happened: () => listeners.received(text) };
  },
});

const tcp = attack('tcp', 'TCP to this machine', ({ tcpPort }) => [tcpPort]);
const tcpV6 = attack('tcp-v6', 'TCP to this machine (IPv6)', ({ tcpPortV6 }) => [tcpPortV6]);
const mapped = attack('tcp-mapped', 'TCP to this machine (IPv4 in IPv6)', ({ tcpPort }) => [tcpPort]);
const multipath = attack('tcp-multipath', 'TCP by several ways (MPTCP)', ({ tcpPort }) => [tcpPort]);
const fastOpen = attack('tcp-fast-open', 'TCP without connect (fast open)', ({ tcpPort }) => [tcpPort]);
const again = attack('tcp-again', 'TCP by a connection to somewhere else', ({ tcpPort, proxyPort }) => [
  tcpPort,
  proxyPort,
]);
const ring = attack('io-uring-connect', 'TCP by io_uring', ({ tcpPort }) => [tcpPort]);
const udp = attack('udp', 'UDP to this machine', ({ udpPort }) => [udpPort]);
const listen = attack('listen', 'listen on a port');
const internet = [tcp, tcpV6, mapped, multipath, fastOpen, again, ring, udp, listen];
const local: readonly Attack[] = [
  attack('unix-path', 'a socket of the worker, by its path', ({ path }) => [path]),
  attack('unix-abstract', 'a socket of the worker, by its abstract name', ({ abstractName }) => [abstractName]),
  datagram('datagram', 'datagrams to a socket of the machine'),
  datagram('datagram-pair', 'datagrams to a socket of the machine, from a pair'),
  datagram('raw-pair', 'datagrams to a socket of the machine, from a pair of raw sockets'),
];
const unusual: readonly Attack[] = [
  stoppedFrom('process', attack('raw', 'raw packets')),
  stoppedFrom('process', attack('packet', 'packets of all devices')),
  attack('vsock', 'sockets to the host of a virtual machine'),
  attack('alg', 'ciphers of the kernel (AF_ALG)'),
];

const withNetwork = (network: Network, attacks: readonly Attack[]): Attack[] =>
  attacks.map((given) => ({
    ...given,
    name: given.name.replace('network/', `network/${network}-`),
    title: `${given.title}, with \`network: ${network}\``,
    network,
  }));

export const networkAttacks: readonly Attack[] = [
  ...internet,
  attack('listen-unbound', 'listen on any port'),
  ...local,
  ...unusual,
  attack('netlink', "ask for the machine's network devices (netlink)"),
  stoppedFrom(
    'never',
    attack('send-descriptor', 'send descriptors to the worker'),
    'stdio of a server is a pair of sockets; the worker reads bytes only, and the kernel closes what came with them',
  ),
  ...withNetwork('proxy', [...internet, ...local, ...unusual]),
  ...withNetwork('full', [...local, ...unusual]),
];
