// `npm run fleet`: agents with the official SDK work with many stores of several servers that share
// a database, of which one is killed each minute, while keys are revoked (agents.ts). Ends with
// exit code 1 if an acknowledged change is lost or there twice, if a revoked key is taken, if there
// is an error that no killed server explains, or if a server holds more than it may.

import { readdirSync, readFileSync } from 'node:fs'
import { scratchDirectory } from '../bench/machine.ts'
import { inParallel } from '../load/load.ts'
import { rest } from '../load/server-process.ts'
import { Agents } from './agents.ts'
import { type ApiKey, Fleet } from './fleet.ts'
import { type Options, parseOptions, usage } from './options.ts'

/** Says how long each part took. */
async function timed<T>(name: string, act: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await act()
  console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return result
}

async function run({
  engine,
  directory,
  seed,
  serve,
  counts,
}: Options): Promise<readonly string[]> {
  const root = scratchDirectory(directory)
  const { stores, agents: count, servers, minutes } = counts
  const fleet = await Fleet.open(root, { engine, servers, serve })
  const keys: ApiKey[] = []
  await timed(`${count} keys`, () =>
    inParallel(4, Array.from({ length: count }), async () => {
      keys.push(await fleet.createKey())
    }),
  )
  const agents = new Agents({ stores, seconds: minutes * 60, seed }, fleet, keys)
  try {
    await fleet.start()
    await timed(`${stores} stores`, () => agents.createStores())
    await timed('work', () => work(agents, fleet, counts))
  } finally {
    await fleet.stop()
  }
  const problems = [...agents.faults, ...memoryProblems(fleet, counts['max-memory'])]
  problems.push(...(await timed('check by a fresh server', () => check(agents, fleet))))
  console.log(`errors in the servers' logs: ${describeLogs(root)}`)
  return problems
}

async function work(agents: Agents, fleet: Fleet, counts: Options['counts']): Promise<void> {
  let [kills, revocations] = [0, 0]
  const every = async (seconds: number, act: () => Promise<void>): Promise<void> => {
    if (seconds === 0) return
    for (let next = Date.now() + seconds * 1000; !agents.isOver;) {
      await rest(200)
      if (Date.now() < next || agents.isOver) continue
      next = Date.now() + seconds * 1000
      await act()
    }
  }
  await Promise.all([
    agents.work(),
    every(counts['kill-every'], async () => {
      await fleet.servers[kills % fleet.servers.length]?.restart()
      kills += 1
    }),
    every(counts['revoke-every'], async () => {
      await agents.revokeOne(revocations)
      revocations += 1
    }),
  ])
  console.log(describe(agents, { kills, revocations }))
}

async function check(agents: Agents, fleet: Fleet): Promise<readonly string[]> {
  const fresh = await fleet.addFresh()
  await fresh.start()
  try {
    return await agents.check(fresh, await fleet.createKey())
  } finally {
    await fresh.process.stop()
  }
}

function describe(agents: Agents, { kills, revocations }: Record<string, number>): string {
  const { reads, updates, races, broken, refused } = agents.counts
  return (
    `${reads} reads, ${updates} updates in ${agents.changed} stores, ${races} lost races; ` +
    `${kills} kills, ${broken} requests to the dead; ${revocations} keys revoked, ` +
    `${refused} requests refused for that; updates took ${agents.updateTime(0.5).toFixed(0)} ms ` +
    `(p50), ${agents.updateTime(0.99).toFixed(0)} ms (p99)`
  )
}

function memoryProblems({ servers }: Fleet, most: number): readonly string[] {
  return servers.flatMap(({ process }, number) => {
    const lives = process.lives.map(({ memory }) => (memory * 1024 ** 2) / 1e6)
    console.log(`server ${number}, MB of each life: ${lives.map((mb) => mb.toFixed(0)).join(' ')}`)
    const held = Math.max(...lives)
    return held <= most ? [] : [`Server ${number} held ${held.toFixed(0)} MB, and may hold ${most}`]
  })
}

/** How many requests were answered with which error. */
function describeLogs(root: string): string {
  const counts = new Map<string, number>()
  const places = readdirSync(root).filter((name) => /^(?:server|fresh)-/.test(name))
  const logs = places.map((name) => `${root}/${name}/log`)
  for (const line of logs.flatMap((log) => readFileSync(log, 'utf8').split('\n'))) {
    const [, status, error, more = ''] = /"status":(\d+).*"error":"(\w+)"(.*)/.exec(line) ?? []
    // Of an unexpected one, with where it was thrown.
    const name = `${status} ${error}${error === 'unexpected' ? more : ''}`
    if (status !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, times]) => `${times} × ${name}`).join(', ') || 'none'
}

async function main(): Promise<number> {
  const problems = await run(parseOptions(process.argv.slice(2)))
  for (const problem of problems.slice(0, 20)) console.error(problem)
  console.log(problems.length === 0 ? 'Nothing is wrong' : `${problems.length} problems`)
  return problems.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
