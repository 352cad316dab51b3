// The command line of `npm run load`.

import { parseArgs } from 'node:util'
import type { Plan } from './load.ts'

export interface Options extends Plan {
  readonly url: string
  readonly key: string
  /** MiB that the server may hold; undefined if it is not to be checked. */
  readonly maxMemory: number | undefined
  /** Starts the server in the foreground; it has to be one process. */
  readonly command: readonly string[]
}

export const usage = `npm run load -- [options] -- <command that starts the server>
  --url <url>        where the server is, http://127.0.0.1:8420 by default
  --key-file <file>  holds an API key of the server
  --stores <n>       stores to create and work with, 50 by default
  --clients <n>      64 by default
  --seconds <n>      how long, 120 by default
  --kill-every <n>   seconds between two kills of the server, 20 by default; 0 for none
  --max-memory <n>   MiB that the server may hold
  --seed <text>      the seed of the random choices`

/** Throws a TypeError that says what is wrong. */
export function parseOptions(args: readonly string[], readKey: (file: string) => string): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8420' },
      'key-file': { type: 'string' },
      stores: { type: 'string', default: '50' },
      clients: { type: 'string', default: '64' },
      seconds: { type: 'string', default: '120' },
      'kill-every': { type: 'string', default: '20' },
      'max-memory': { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
  })
  const number = (name: 'stores' | 'clients' | 'seconds' | 'kill-every', least: number): number => {
    const found = Number(values[name])
    if (Number.isSafeInteger(found) && found >= least) return found
    throw new TypeError(`--${name} takes a whole number from ${least} on`)
  }
  const keyFile = values['key-file']
  if (keyFile === undefined) throw new TypeError('Give --key-file')
  if (positionals.length === 0) throw new TypeError('Give the command that starts the server')
  const memory = values['max-memory']
  return {
    url: values.url,
    key: readKey(keyFile).trim(),
    stores: number('stores', 1),
    clients: number('clients', 1),
    seconds: number('seconds', 1),
    killEvery: number('kill-every', 0),
    maxMemory: memory === undefined ? undefined : Number(memory),
    seed: values.seed,
    command: positionals,
  }
}
