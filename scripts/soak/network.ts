// Machines on a network of their own: each is a network namespace of Linux, joined by a bridge in
// the namespace of the host. Without them programs run as plain processes, and no link can be cut.

import { spawnSync } from 'node:child_process'

/** Below 127/8, since the product speaks plain http only there. */
const hostAddress = '127.77.0.1'

/** How a link is cut: the machine sees that it is down, or packets vanish. */
export type Cut = 'unplugged' | 'silent'

/** A place on the network where programs run. */
export interface Place {
  /** The words before those of a program. */
  readonly prefix: readonly string[]
  cut(how: Cut): void
  restore(): void
}

export interface Network {
  readonly address: string
  readonly host: Place
  join(): Place
}

const plainPlace: Place = { prefix: [], cut: () => undefined, restore: () => undefined }

export const plainNetwork: Network = {
  address: '127.0.0.1',
  host: plainPlace,
  join: () => plainPlace,
}

/** Undefined where the user may not make namespaces. They are removed when the process ends. */
export function makeNetwork(): Network | undefined {
  const names: string[] = []
  const host = `gitlocket-${process.pid}-host`
  const add = (name: string): void => {
    ip('netns', 'add', name)
    names.push(name)
    run('ip', 'netns', 'exec', name, 'sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1')
  }
  process.on('exit', () => {
    for (const name of names) spawnSync('ip', ['netns', 'delete', name])
  })
  try {
    add(host)
    ip('-n', host, 'link', 'add', 'bridge', 'type', 'bridge')
    ip('-n', host, 'address', 'add', `${hostAddress}/16`, 'dev', 'bridge')
    ip('-n', host, 'link', 'set', 'bridge', 'up')
  } catch {
    return undefined
  }
  const join = (): Place => {
    const number = names.length
    const name = `gitlocket-${process.pid}-${number}`
    add(name)
    return joinBridge(host, name, number)
  }
  return { address: hostAddress, host: placeIn(host, plainPlace), join }
}

function joinBridge(host: string, name: string, number: number): Place {
  const port = `port${number}`
  const ends = ['name', port, 'netns', host, 'type', 'veth', 'peer', 'eth0', 'netns', name]
  ip('link', 'add', ...ends)
  ip('-n', host, 'link', 'set', port, 'master', 'bridge', 'up')
  ip('-n', name, 'address', 'add', `127.77.1.${number}/16`, 'dev', 'eth0')
  ip('-n', name, 'link', 'set', 'eth0', 'up')
  return placeIn(name, {
    cut(how) {
      if (how === 'silent') ip('-n', host, 'link', 'set', port, 'down')
      else ip('-n', name, 'link', 'set', 'eth0', 'down')
    },
    restore() {
      ip('-n', host, 'link', 'set', port, 'up')
      ip('-n', name, 'link', 'set', 'eth0', 'up')
    },
  })
}

function placeIn(name: string, links: Pick<Place, 'cut' | 'restore'>): Place {
  const { cut, restore } = links
  return { prefix: ['ip', 'netns', 'exec', name], cut, restore }
}

function ip(...words: readonly string[]): void {
  run('ip', ...words)
}

function run(program: string, ...words: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')}: ${error?.message ?? stderr}`)
}
