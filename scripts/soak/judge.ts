// The end of a soak with sandboxes: what every clone must agree on, and where each write must be.

import { join } from 'node:path'
import { openDefaultStore } from 'gitlocket'
import { run } from '../bench/machine.ts'
import type { Home } from './home.ts'
import { type Journal, syncClone, type Write } from './journal.ts'
import type { World } from './sandbox.ts'

const rounds = 5

/** Syncs all clones, one after the other, until the heads of all are equal. Returns the head. */
export async function converge(homes: readonly Home[], world: World): Promise<string> {
  const heads = new Map<Home, string>()
  for (let round = 0; round < rounds; round += 1) {
    for (const home of homes) await syncAtLast(home, world)
    for (const home of homes) heads.set(home, String((await home.json('status'))['head']))
    const [head = '', ...others] = new Set(heads.values())
    if (others.length === 0) return head
  }
  const list = [...heads].map(([{ directory }, head]) => `${directory}: ${head}`)
  throw new Error(`The heads of the clones are not equal:\n${list.join('\n')}`)
}

/** A busy machine may need several times. */
async function syncAtLast(home: Home, world: World): Promise<void> {
  let failure: string | undefined
  for (let round = 0; round < rounds; round += 1) {
    failure = await syncClone(home, world)
    if (failure === undefined) return
  }
  throw new Error(`${home.directory} does not sync: ${failure}`)
}

/** From genesis on. */
export async function verify(home: Home, head: string): Promise<void> {
  const { head: found } = await home.json('verify')
  if (found === head) return
  throw new Error(`${home.directory} verifies the head ${String(found)}, not ${head}`)
}

/** Where tokens are, in a whole history. */
interface Census {
  /** By token, how often it is in the live memories. */
  readonly live: ReadonlyMap<string, number>
  /** Versions that contain it. */
  readonly versions: ReadonlyMap<string, number>
  /** By path, the versions that created a memory there. */
  readonly created: ReadonlyMap<string, number>
  readonly count: number
  readonly isSecretThere: boolean
}

/** Reads every version that the clone of a device has. */
async function takeCensus(home: Home, secret: string): Promise<Census> {
  const [live, versions] = [new Map<string, number>(), new Map<string, number>()]
  const created = new Map<string, number>()
  let [count, isSecretThere] = [0, false]
  const store = await openDefaultStore(home.environment)
  for await (const { content = '' } of store.memories({ view: 'full' })) countTokens(content, live)
  const filter = { view: 'full', order: 'oldest' } as const
  for await (const { content = '', operation, path } of store.history.versions(filter)) {
    count += 1
    isSecretThere ||= content.includes(secret)
    countTokens(content, versions)
    if (operation === 'created' && path !== undefined) add(created, path)
  }
  await store.close()
  return { live, versions, created, count, isSecretThere }
}

function countTokens(text: string, counts: Map<string, number>): void {
  for (const [token] of text.matchAll(/token-\d{6}-/g)) add(counts, token)
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Each write that must be there is there, and no write is there twice. */
export async function judge(home: Home, { writes }: Journal, secret: string): Promise<string> {
  const census = await takeCensus(home, secret)
  const faults = writes.flatMap((write) => faultOf(write, census) ?? [])
  if (census.isSecretThere) faults.push('The redacted text is still there')
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const acknowledged = writes.filter(({ isAcknowledged }) => isAcknowledged)
  const synced = acknowledged.filter(({ isSynced }) => isSynced)
  const lost = acknowledged.filter(({ token }) => !census.versions.has(token))
  return (
    `${writes.length} writes, ${acknowledged.length} acknowledged, ${synced.length} synced, each ` +
    `there once; ${lost.length} died unsent with their clone; ${census.count} versions`
  )
}

function faultOf(write: Write, { live, versions, created }: Census): string | undefined {
  const { token, kind, path, isAcknowledged, isSynced } = write
  const name = `${token} (${kind} ${path})`
  const inLive = live.get(token) ?? 0
  const isKnown = versions.has(token)
  if (inLive > 1) return `${name} is there ${inLive} times`
  if (kind === 'memory' && (created.get(path) ?? 0) > 1) return `${name} was created twice`
  if (!isAcknowledged || !isSynced) return undefined
  if (!isKnown) return `${name} was synced and is missing`
  return kind !== 'text' && inLive === 0 ? `${name} is no longer there` : undefined
}

export function checkRemote(root: string, head: string): void {
  const remote = join(root, 'remote.git')
  const found = run('git', ['rev-parse', 'main'], { cwd: remote }).toString().trim()
  if (found !== head) throw new Error(`The remote has the head ${found}, not ${head}`)
  run('git', ['fsck', '--strict', '--no-dangling'], { cwd: remote })
}
