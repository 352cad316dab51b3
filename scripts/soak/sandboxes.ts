// `npm run soak -- --sandboxes 16`: sandboxes in network namespaces that share a grant write, are
// killed and begin again, next to two laptops of the owner, with one git host. On the way something
// old is redacted, the keys are rotated, and one of two grants ends. Afterwards every write that
// was acknowledged and synced must be there once, and every clone have the same head.

import { setMaxListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describeMachine, run } from '../bench/machine.ts'
import { seededChoice } from '../bench/workload.ts'
import { Home, type Started, startProgram } from './home.ts'
import { Journal, Tally } from './journal.ts'
import { checkRemote, converge, judge, verify } from './judge.ts'
import { makeNetwork, type Network, plainNetwork } from './network.ts'
import { Owner } from './owner.ts'
import { type Lent, pause, Sandbox, sharedMemories, type World } from './sandbox.ts'

export interface SandboxOptions {
  readonly sandboxes: number
  readonly minutes: number
  readonly seed: string
  /** The mean time between two writes of a machine. */
  readonly everyMs: number
  readonly directory: string | undefined
  /** Plain processes, whose links cannot be cut. */
  readonly plain: boolean
}

const minuteMs = 60_000
const secret = 'The launch code is 4711'

/** A run that fails keeps its directory. */
export async function soakSandboxes(options: SandboxOptions): Promise<void> {
  const network = options.plain ? plainNetwork : makeNetwork()
  if (network === undefined) {
    console.log('skipped: needs root and ip netns; --plain runs plain processes')
    return
  }
  console.log(describeMachine())
  const root = mkdtempSync(join(options.directory ?? tmpdir(), 'gitlocket-soak-'))
  try {
    console.log(await soakIn(root, network, options))
  } catch (error) {
    console.error(`The clones are kept in ${root}`)
    throw error
  }
  rmSync(root, { recursive: true, force: true, maxRetries: 3 })
}

async function soakIn(root: string, network: Network, options: SandboxOptions): Promise<string> {
  const { seed, minutes, everyMs } = options
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const { host, url } = await startHost(root, network)
  const journal = new Journal()
  const tally = new Tally(journal)
  const world: World = { root, journal, tally, remote: url, signal: over.signal, everyMs }
  const [laptop, desktop] = [newHome(world, network, 'laptop'), newHome(world, network, 'desktop')]
  const owned = await beginStore(laptop, url)
  const address = `${url}#${String((await laptop.json('status'))['address'])}`
  const key = { GITLOCKET_RECOVERY_KEY_FILE: owned.keyFile }
  await withVariables(desktop, key).json('join', address)
  const owners = [laptop, desktop].map((home) => {
    const name = home.directory.slice(root.length + 1)
    return new Owner(name, home, world, seededChoice(`${seed} ${name}`))
  })
  const sandboxes = makeSandboxes(world, network, options, owned.grants)
  const work = Promise.all([...owners, ...sandboxes].map((machine) => machine.work()))
  const events = follow(owners, owned.grants, world, minutes)
  await pause(minutes * minuteMs, over.signal)
  over.abort()
  await work
  const done = await events()
  console.log(`${done}; ${tally.describe()}`)
  writeFileSync(join(root, 'journal'), journal.describe())
  if (tally.faults.size > 0) throw new Error([...tally.faults].join('\n'))
  const left = sandboxes.filter(({ home, hasEndedGrant }) => home !== undefined && !hasEndedGrant)
  const clones = left.flatMap(({ home }) => home ?? [])
  const fresh = newHome(world, network, 'fresh')
  await withVariables(fresh, key).json('join', address)
  const head = await converge([...clones, laptop, desktop, fresh], world)
  checkRemote(root, head)
  await verify(fresh, head)
  const [clone] = clones
  await clone?.json('fetch', '--all')
  if (clone !== undefined) await verify(clone, head)
  await laptop.json('verify', '--absence')
  const verdict = await judge(fresh, journal, secret)
  host.child.stdin?.end()
  return verdict
}

async function startHost(root: string, network: Network) {
  const remote = join(root, 'remote.git')
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { cwd: root })
  run('git', ['config', 'http.receivepack', 'true'], { cwd: remote })
  const module = new URL('host.js', import.meta.url).pathname
  const words = [process.execPath, module, remote, network.address]
  const host: Started = startProgram(words, network.host, { PATH: process.env['PATH'] })
  const url = await new Promise<string>((resolve, reject) => {
    if (host.child.stdout) createInterface({ input: host.child.stdout }).once('line', resolve)
    void host.ended.then(({ stderr }) => reject(new Error(`The host ended: ${stderr}`)))
  })
  return { host, url }
}

function newHome({ root }: World, network: Network, name: string): Home {
  return new Home(join(root, name), network.join())
}

function withVariables({ directory, place }: Home, variables: Record<string, string>): Home {
  return new Home(directory, place, variables)
}

/** A store with the memories of all and a secret, and two grants. */
async function beginStore(laptop: Home, url: string) {
  const { recovery_key: key } = await laptop.json('init')
  const keyFile = join(laptop.directory, 'recovery-key')
  writeFileSync(keyFile, String(key), { mode: 0o600 })
  await laptop.json('remote', 'add', 'origin', url)
  await laptop.json('create', '/launch.md', '--text', `${secret}\n`)
  for (let number = 0; number < sharedMemories; number += 1) {
    await laptop.json('create', `/shared/${number}.md`, '--text', 'Lines of all machines\n')
  }
  const grants: Lent[] = []
  for (const label of ['first', 'second']) {
    const { text } = await laptop.json('grant', 'give', '--label', label)
    grants.push({ text: String(text), isEnded: false })
  }
  return { keyFile, grants }
}

/** Every fourth one has the second grant. */
function makeSandboxes(
  world: World,
  network: Network,
  { sandboxes: count, seed }: SandboxOptions,
  grants: readonly Lent[],
): readonly Sandbox[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `sandbox-${index + 1}`
    const own = index % 4 === 3 ? grants.toReversed() : grants
    return new Sandbox(name, world, network.join(), seededChoice(`${seed} ${name}`), own)
  })
}

/** What an owner does once in a run. The result tells what has been done. */
function follow(
  [laptop, desktop]: readonly Owner[],
  [, second]: readonly Lent[],
  world: World,
  minutes: number,
): () => Promise<string> {
  const begun = performance.now()
  const done: string[] = []
  const at = async (share: number, owner: Owner | undefined, ...words: string[]): Promise<void> => {
    await pause(share * minutes * minuteMs, world.signal)
    await owner?.do(...words)
    const seconds = ((performance.now() - begun) / 1000).toFixed(0)
    world.journal.note(`done: ${words.join(' ')}`)
    done.push(`${words.slice(0, 2).join(' ')} after ${seconds} s`)
  }
  const select = ['--matching', secret, '--literal', '--delete', '--yes']
  const redaction = at(0.15, laptop, 'redact', ...select)
  const rotation = at(0.3, desktop, 'key', 'rotate')
  const end = async (): Promise<void> => {
    await at(0.5, laptop, 'grant', 'end', 'second')
    if (second !== undefined) second.isEnded = true
  }
  const all = Promise.all([redaction, rotation, end()])
  return async () => {
    await all
    return done.join(', ')
  }
}
