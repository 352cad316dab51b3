// `npm run race`: clones of one store, each a process, write and sync every few seconds with one
// git host, all in the same seconds. Prints how long their syncs take and how many merges it costs.
// Ends with exit code 1 if a write has not arrived.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  createStore,
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  type Identity,
  joinStore,
} from 'gitlocket'
import { startGitHost } from '../bench/http-backend.ts'
import { cleanEnvironment, describeMachine, run, scratchDirectory } from '../bench/machine.ts'
import { seededChoice } from '../bench/workload.ts'
import type { CloneTask, Message } from './clone.ts'

const usage = `npm run race -- [options]
  --clones <list>    how many, 2,5,10,20,50 by default; one line is printed for each
  --turns <n>        how often each clone writes and syncs, 4 by default
  --every <seconds>  how far its turns are apart, 10 by default
  --seed <text>      the seed of their delays
  --grant            sandboxes with one grant instead of devices
  --directory <dir>  where to work`

const cloneModule = fileURLToPath(new URL('clone.js', import.meta.url))
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
const author = { actor: { type: 'user', id: 'race' } } as const

interface Pace {
  readonly turns: number
  readonly everyMs: number
  readonly seed: string
  /** Whether the clones are sandboxes with one grant. */
  readonly isGranted: boolean
}

interface Result {
  /** Milliseconds of each sync. */
  readonly times: number[]
  readonly failures: string[]
}

type Place = Pick<CloneTask, 'directory' | 'stateDirectory' | 'identityFile' | 'name' | 'granted'>

async function race(root: string, count: number, pace: Pace): Promise<string> {
  mkdirSync(root)
  const remote = join(root, 'remote.git')
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { cwd: root })
  const host = await startGitHost(remote)
  const places = pace.isGranted
    ? await makeSandboxes(root, host.url, count)
    : await makeClones(root, host.url, count)
  const start = run('git', ['rev-parse', 'main'], { cwd: remote }).toString().trim()
  const before = host.requests()
  const result: Result = { times: [], failures: [] }
  const choose = seededChoice(`${pace.seed} ${count}`)
  const clones = places.map((place) => {
    const { turns, everyMs } = pace
    return startClone({ ...place, turns, everyMs, delayMs: choose(everyMs) }, result)
  })
  await Promise.all(clones.map(({ open }) => open))
  const began = performance.now()
  for (const { child } of clones) child.send('begin')
  await Promise.all(clones.map(({ ended }) => ended))
  const seconds = (performance.now() - began) / 1000
  host.close()
  const countOf = (...args: string[]): number =>
    Number(run('git', ['rev-list', '--count', ...args, `${start}..main`], { cwd: remote }))
  const merges = countOf('--merges')
  const arrived = countOf('--no-merges')
  const writes = count * pace.turns
  if (arrived !== writes) throw new Error(`${writes - arrived} of ${writes} writes did not arrive`)
  return line(count, writes, result, { seconds, merges, requests: host.requests() - before })
}

interface Cost {
  readonly seconds: number
  readonly merges: number
  readonly requests: number
}

function line(count: number, writes: number, { times, failures }: Result, cost: Cost): string {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string =>
    ((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) / 1000).toFixed(
      1,
    )
  const each = (value: number): string => (value / writes).toFixed(2)
  const codes = failures.length > 0 ? ` (${[...new Set(failures)].join(', ')})` : ''
  return (
    `${count} clones: ${writes} writes in ${cost.seconds.toFixed(0)} s, syncs of ` +
    `${at(0.5)} s (median), ${at(0.95)} s (95 %), ${at(1)} s (longest), ` +
    `${failures.length} failed${codes}; ` +
    `${each(cost.merges)} merges and ${each(cost.requests)} requests a write`
  )
}

function startClone(task: CloneTask, { times, failures }: Result) {
  const env = cleanEnvironment(join(task.directory, '..'))
  const child = fork(cloneModule, [JSON.stringify(task)], { env })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const open = new Promise<void>((resolve) => {
    child.on('message', (message: Message) => {
      if (message.type === 'open') resolve()
      if (message.type !== 'synced') return
      times.push(message.ms)
      if (message.code !== undefined) failures.push(message.code)
    })
  })
  return { child, open, ended: endOf(child, task.name) }
}

async function endOf(child: ChildProcess, name: string): Promise<void> {
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`Clone ${name} ended with ${String(code)}`)
}

async function makeClones(root: string, remote: string, count: number): Promise<readonly Place[]> {
  const identities: Identity[] = []
  for (let number = 0; number < count; number += 1) identities.push(await generateIdentity())
  const places = identities.map((identity, number) => newDevice(root, `c${number}`, identity))
  const [first, ...others] = places
  const [owner, ...joining] = identities
  if (first === undefined || owner === undefined) throw new TypeError('There must be a clone')
  const { store } = await createStore({ ...first, identity: owner })
  await store.remotes.add('origin', remote)
  for (const identity of joining) {
    await store.as(author).devices.add(formatDeviceCard(identity), 'writer')
  }
  await store.as(author).sync()
  const url = `${remote}#${(await store.status()).address}`
  await store.close()
  for (const [index, place] of others.entries()) {
    const identity = joining[index]
    if (identity === undefined) continue
    const joined = await joinStore({ ...place, identity, url, author })
    await joined.close()
  }
  return places
}

/** Empty directories, and one grant for all of them. */
async function makeSandboxes(root: string, remote: string, count: number): Promise<Place[]> {
  const identity = await generateIdentity()
  const owner = newDevice(root, 'owner', identity)
  const { store } = await createStore({ ...owner, identity })
  await store.remotes.add('origin', remote)
  const { text } = await store.as(author).grants.give()
  await store.close()
  return Array.from({ length: count }, (_, number) => {
    const place = newPlace(root, `s${number}`)
    const granted = {
      HOME: join(place.directory, '..'),
      GITLOCKET_REMOTE: remote,
      GITLOCKET_GRANT: text,
    }
    return { ...place, granted }
  })
}

/** The home directory of a device is made, and its identity is written there. */
function newDevice(root: string, name: string, identity: Identity): Place {
  const place = newPlace(root, name)
  writeFileSync(place.identityFile, formatIdentity(identity), { mode: 0o600 })
  return place
}

function newPlace(root: string, name: string): Place {
  const home = join(root, name)
  mkdirSync(home)
  const [directory, stateDirectory] = [join(home, 'store'), join(home, 'state')]
  return { name, directory, stateDirectory, identityFile: join(home, 'identity') }
}

/** Throws a TypeError if the command line is invalid. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      clones: { type: 'string', default: '2,5,10,20,50' },
      turns: { type: 'string', default: '4' },
      every: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      grant: { type: 'boolean', default: false },
      directory: { type: 'string' },
    },
  })
  const counts = values.clones.split(',').map(Number)
  const [turns, every] = [Number(values.turns), Number(values.every)]
  if (![...counts, turns, every].every((value) => Number.isSafeInteger(value) && value > 0)) {
    throw new TypeError('--clones, --turns and --every take whole numbers from 1 on')
  }
  console.log(describeMachine())
  const root = scratchDirectory(values.directory)
  const isGranted = values.grant
  const pace = { turns, everyMs: every * 1000, seed: values.seed, isGranted }
  for (const count of counts) console.log(await race(join(root, String(count)), count, pace))
}

try {
  await main()
  process.exit(0)
} catch (error) {
  if (error instanceof TypeError) console.error(`${error.message}\n${usage}`)
  else console.error(error)
  process.exit(error instanceof TypeError ? 2 : 1)
}
