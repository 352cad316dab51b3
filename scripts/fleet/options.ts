// The command line of `npm run fleet`.

import { parseArgs } from 'node:util'

export const usage = `npm run fleet -- --engine <address> [options] [-- <options of serve>]
  --engine <address>   an empty database
  --stores <n>         stores to create and work with, 200 by default
  --agents <n>         64 by default
  --servers <n>        3 by default
  --minutes <n>        how long, 1 by default
  --kill-every <n>     seconds between two kills of a server, 60 by default; 0 for none
  --revoke-every <n>   seconds between two revocations of a key, 20 by default
  --max-memory <n>     MB that each server may hold, 400 by default
  --seed <text>        the seed of the random choices
  --directory <dir>    where servers keep their replicas`

const numbers = {
  stores: '200',
  agents: '64',
  servers: '3',
  minutes: '1',
  'kill-every': '60',
  'revoke-every': '20',
  'max-memory': '400',
}

export interface Options {
  readonly engine: string
  readonly directory: string | undefined
  readonly seed: string
  readonly serve: readonly string[]
  readonly counts: Readonly<Record<keyof typeof numbers, number>>
}

/** Throws a TypeError that says what is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      directory: { type: 'string' },
      seed: { type: 'string', default: '1' },
      stores: { type: 'string', default: numbers.stores },
      agents: { type: 'string', default: numbers.agents },
      servers: { type: 'string', default: numbers.servers },
      minutes: { type: 'string', default: numbers.minutes },
      'kill-every': { type: 'string', default: numbers['kill-every'] },
      'revoke-every': { type: 'string', default: numbers['revoke-every'] },
      'max-memory': { type: 'string', default: numbers['max-memory'] },
    },
  })
  const { engine, directory, seed } = values
  if (engine === undefined) throw new TypeError('Give --engine')
  const number = (name: keyof typeof numbers): number => {
    const found = Number(values[name])
    if (Number.isFinite(found) && found >= 0) return found
    throw new TypeError(`--${name} takes a number`)
  }
  const counts = {
    stores: number('stores'),
    agents: number('agents'),
    servers: number('servers'),
    minutes: number('minutes'),
    'kill-every': number('kill-every'),
    'revoke-every': number('revoke-every'),
    'max-memory': number('max-memory'),
  }
  return { engine, directory, seed, serve: positionals, counts }
}
