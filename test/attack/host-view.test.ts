// T31: after a busy month the host of a remote learns exactly what the leakage table of
// docs/THREAT-MODEL.md lists. Its files contain no contents, paths, reasons, actors, sessions,
// devices or times. FORMAT §11.

import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { fromHex, toHex } from '../../src/bytes.ts'
import type { KeyringFile } from '../../src/format/keyring.ts'
import { readmeFile } from '../../src/format/public-files.ts'
import {
  type Author,
  formatDeviceCard,
  generateIdentity,
  type MemoryStore,
} from '../../src/index.ts'
import { createStore } from '../../src/store/create.ts'
import { joinStore } from '../../src/store/join.ts'
import { alone, storeIdAt } from '../support/clones.ts'
import { countingRandom } from '../support/forge-seal.ts'
import { everyByte, type HostView, readHostView, type ViewedCommit } from '../support/host-view.ts'
import { leastStretch } from '../support/stores.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

const DAY = 86_400_000
const START = 1_750_000_000_000
const root = sharedDirectory()
const remote = `${root}/remote.git`

/** Values that no host may see, by kind. */
const canaries = new Map<string, string | Uint8Array>()
function canary(what: string): string {
  const text = `canary-${what}-kV8xQ2`
  canaries.set(what, text)
  return text
}

/** One machine of the scenario, with a clock of its own. */
interface Machine {
  readonly store: MemoryStore
  readonly author: Author
  now: number
}

async function machine(name: string, recoveryKey?: string): Promise<Machine & { key: string }> {
  const random = countingRandom(`host view ${name}`)
  const identity = await generateIdentity(random)
  canaries.set(`device ${name}`, fromHex(identity.deviceId))
  const place = { directory: `${root}/${name}`, stateDirectory: `${root}/${name}.state`, identity }
  const actor = { type: 'user', id: canary(`actor-${name}`) } as const
  const author = { actor, session: canary(`session-${name}`), reason: canary(`reason-${name}`) }
  const here = { now: START }
  const how = { ...place, random, clock: () => here.now }
  if (recoveryKey !== undefined) {
    here.now = START + 3 * DAY + 123
    const trusted = { storeId: storeIdAt(remote), trustFirstContact: async () => true }
    const store = await joinStore({ ...how, ...trusted, author, url: remote, recoveryKey })
    return Object.assign(here, { store, author, key: recoveryKey })
  }
  const passphrase = canary('passphrase')
  const given = { passphrase, stretch: leastStretch, name: canary('store') }
  const made = await createStore({ ...how, ...given, actor })
  await made.store.remotes.add('origin', remote)
  return Object.assign(here, { store: made.store, author, key: made.recoveryKey })
}

function at(one: Machine, days: number): Machine {
  one.now = START + Math.floor(days * DAY) + 4567
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(one.now))
  canaries.set(`time ${one.now}`, time)
  canaries.set(`time ${one.now} as text`, String(one.now))
  return one
}

const path = (name: string): string => `/${canary(`path-${name}`)}.md`
const text = (name: string): string => `${canary(`content-${name}`)}\n`

async function write(one: Machine, name: string, content = text(name)): Promise<void> {
  await one.store.as(one.author).apply([{ type: 'create', path: path(name), content }])
}

async function edit(one: Machine, name: string, content: string): Promise<void> {
  await one.store.as(one.author).apply([{ type: 'edit', path: path(name), edit: () => content }])
}

async function busyMonth(): Promise<void> {
  git(['init', '--quiet', '--bare', '--initial-branch=main', remote], '/')
  const a = await machine('a')
  const first = Array.from({ length: 20 }, (_, n) => `bulk-${n}`)
  await at(a, 1)
    .store.as(a.author)
    .apply(
      first.map((name) => ({ type: 'create', path: path(name), content: text(name) }) as const),
    )
  await write(at(a, 2), 'plan', text('plan').repeat(400))
  await a.store.as(a.author).sync()
  const b = await machine('b', a.key)
  await a.store.as(a.author).sync()
  const auditor = await generateIdentity(countingRandom('host view auditor'))
  canaries.set('device auditor', fromHex(auditor.deviceId))
  await at(a, 4).store.as(a.author).devices.add(formatDeviceCard(auditor), 'auditor', alone)
  await rename(at(a, 5), 'plan', 'renamed')
  await write(at(a, 6), 'leak')
  await edit(at(a, 7), 'leak', text('revoked'))
  await apart(a, b)
  await redactLeak(at(a, 12))
  await at(a, 13)
    .store.as(a.author)
    .settings.update({ description: canary('description') })
  const [, , third] = await a.store.devices.list()
  await at(a, 14)
    .store.as(a.author)
    .devices.remove([third?.deviceId ?? ''], alone)
  await at(a, 15)
    .store.as(a.author)
    .keys.makeRecoveryKey({ keepOld: true, ...alone })
  await write(at(a, 16), 'after')
  for (const one of [a, b, a]) await one.store.as(one.author).sync()
  await at(b, 30)
    .store.as(b.author)
    .apply([{ type: 'delete', path: path('bulk-3') }])
  for (const one of [b, a]) await one.store.as(one.author).sync()
  for (const one of [a, b]) await one.store.close()
}

async function rename({ store, author }: Machine, from: string, to: string): Promise<void> {
  await store.as(author).apply([{ type: 'rename', path: path(from), to: path(to) }])
}

/** Both write while apart, to the same memory too, and one of them changes the keyring. */
async function apart(a: Machine, b: Machine): Promise<void> {
  await edit(at(a, 8), 'bulk-1', text('side-a'))
  await edit(at(b, 9), 'bulk-1', text('side-b'))
  await write(at(b, 10), 'only-b')
  await a.store.as(a.author).keys.makeRecoveryKey({ keepOld: true, ...alone })
  for (const one of [at(a, 11), at(b, 11.5), a]) await one.store.as(one.author).sync()
  await b.store.as(b.author).keys.makeRecoveryKey({ keepOld: true })
  await a.store.as(a.author).sync()
}

async function redactLeak({ store, author: { actor, session } }: Machine): Promise<void> {
  const { data: versions } = await store.history.versions({ path: path('leak'), order: 'oldest' })
  const versionIds = [versions[0]?.versionId ?? '']
  await store.as({ actor, session }).redact({ select: { versionIds }, reason: 'leaked_secret' })
}

let view: HostView
let bytes: Buffer
beforeAll(async () => {
  await busyMonth()
  view = readHostView(remote)
  bytes = everyByte(remote)
}, 120_000)

/** The files that a commit changed, against its first parent. */
function changed(commit: ViewedCommit): readonly string[] {
  const parent = view.commits.find(({ oid }) => oid === commit.parents[0])
  return [...commit.files].flatMap(([name, oid]) => (parent?.files.get(name) === oid ? [] : [name]))
}

/** The maximum number of rows of a sealed record, by its size alone. */
function rowsMaxIn({ length }: Uint8Array): number {
  const padded = length - 96
  return padded % 256 === 0 ? Math.floor((padded - 400) / 81) : -1
}

const ladder = new Set(
  Array.from({ length: 24 }, (_, n) => [2 ** (n + 9), 3 * 2 ** (n + 8)])
    .flat()
    .concat(256, 1280),
)

function newestSlots(): KeyringFile['slots'] {
  return [...view.keyrings.values()].toSorted((a, b) => b.number - a.number)[0]?.slots ?? []
}

/** What the host can tell, under the words of the table; each must be there to be seen. */
const observations: Readonly<Record<string, () => boolean>> = {
  'that it is a gitlocket store, and its id': () =>
    /^\{"format":"gitlocket-store\/1","store":"memstore_[0-9a-z]{26}"\}\n$/.test(view.storeFile),
  'the number of commits, and of rows in each': () =>
    view.commits.length > 15 &&
    view.commits.every(({ record }) => rowsMaxIn(record) >= 0) &&
    view.commits.some(({ record }) => rowsMaxIn(record) >= 20),
  'which commits were made apart, and where they were merged': () =>
    view.commits.some(({ parents }) => parents.length === 2),
  'that a change is of the keyring or settings, or a redaction (as gaps)': () => {
    const administrative = view.commits.filter(({ detail }) => detail === undefined)
    const kinds = new Set(administrative.map((commit) => changed(commit).join()))
    return kinds.has('keyring') && kinds.has('settings') && kinds.has('')
  },
  'per opaque memory id: created, changed, deleted, how often; so the number of memories': () => {
    const ids = new Set(view.commits.flatMap(({ memories }) => [...memories.keys()]))
    return ids.size >= 23 && [...ids].every((id) => /^[0-9a-f]{32}$/.test(id))
  },
  'which versions of which memories a redaction erased, if older objects were kept': () => {
    const blobsOf = (commits: readonly ViewedCommit[]): ReadonlySet<string> =>
      new Set(commits.flatMap(({ memories }) => [...memories.values()]))
    const left = blobsOf(view.commits)
    return [...blobsOf(view.replaced)].some((blob) => !left.has(blob))
  },
  'a bucket of each size: 256, 512, 768, 1,024, 1,280, 1,536, … bytes': () =>
    view.envelopes.every(({ type, length }) => {
      return type === 1 ? length % 256 === 0 : ladder.has(length)
    }),
  epochs: () => new Set(view.envelopes.map(({ kid }) => kid)).size === 2,
  'the number of devices and recovery keys together, up to 4, 8, 16, …': () => {
    // Two devices and four recovery keys: nothing shows which slot is whose.
    const keys = newestSlots().filter(({ type }) => type === 'key')
    const sizes = new Set(keys.map(({ envelope }) => envelope.length))
    return keys.length === 8 && sizes.size === 1
  },
  'how many passphrases there are, and their Argon2id parameters': () => {
    const found = newestSlots().filter(({ type }) => type === 'passphrase')
    return found.length === 1 && found[0]?.passphrase?.argon2.memoryKiB === leastStretch.memoryKiB
  },
  'a bucket of how many devices and recovery keys there are, and ever were': () => {
    const sizes = [...view.keyrings.values()].map(({ directory }) => directory.length - 96)
    return new Set(sizes).size > 1 && sizes.every((size) => ladder.has(size))
  },
}
/** Seen by the server, and in no object. */
const ofTheWire = 'when something was pushed, from which address and account'

/** The first cells of the table. */
function tableRows(): readonly string[] {
  const document = readFileSync(new URL('../../docs/THREAT-MODEL.md', import.meta.url), 'utf8')
  const section = document.split('## What a reader without a key learns')[1]?.split('\n## ')[0]
  const rows = (section ?? '').matchAll(/^\| (.*?) \| .* \|$/gm)
  return [...rows].map(([, cell = '']) => cell).filter((cell) => cell !== 'seen')
}

describe('T31: the host of a remote', () => {
  test('has a table of the visible fields, with these rows', () => {
    expect(tableRows()).toEqual([...Object.keys(observations), ofTheWire])
  })

  test.each(Object.entries(observations))('sees %s', (_, isSeen) => {
    expect(isSeen()).toBe(true)
  })

  test('sees one branch and a config of its own', () => {
    expect(view.refs).toEqual(['refs/heads/main'])
    const config = readFileSync(`${remote}/config`, 'utf8')
    expect(config).not.toMatch(/remote|user|gitlocket/)
  })

  test('sees ciphertexts that never repeat: no two envelopes have one salt', () => {
    const salts = new Map(view.envelopes.map(({ salt, digest }) => [salt, digest]))
    expect(salts.size).toBeGreaterThan(60)
    expect(view.envelopes.filter(({ salt, digest }) => salts.get(salt) !== digest)).toEqual([])
  })

  test('sees no authors: commits name only a placeholder, dated by height', () => {
    const people = git(['log', '--all', '--format=%an%ae%cn%ce%at%ct%ad'], remote)
    const heights = new Set(view.commits.map(({ height }) => 1_000_000_000 + height))
    for (const line of people.trim().split('\n')) {
      const found = line.match(/\d{10}/g)?.map(Number) ?? []
      expect(found.every((time) => heights.has(time))).toBe(true)
      expect(line).toMatch(/^gitlocketgitlocket@localhostgitlocketgitlocket@localhost\d{20}/)
    }
  })
})

describe('T31: in the files of the host', () => {
  /** As it might lie somewhere: plain, hex, UTF-16, base64 at each alignment. */
  function formsOf(value: string | Uint8Array): readonly Buffer[] {
    const plain = Buffer.from(value)
    const base64 = [0, 1, 2].map((shift) => {
      const whole = Buffer.concat([Buffer.alloc(shift), plain]).toString('base64')
      return Buffer.from(whole.slice(shift === 0 ? 0 : 4, -4))
    })
    const hex = [
      Buffer.from(plain.toString('hex')),
      Buffer.from(plain.toString('hex').toUpperCase()),
    ]
    const wide = typeof value === 'string' ? [Buffer.from(value, 'utf16le')] : []
    return [plain, ...hex, ...wide, ...base64.filter(({ length }) => length >= 6)]
  }

  function findIn(haystack: Buffer): readonly string[] {
    return [...canaries].flatMap(([what, value]) =>
      formsOf(value).some((form) => haystack.includes(form)) ? [what] : [],
    )
  }

  test('nothing is found of contents, paths, reasons, actors, sessions, devices and times', () => {
    expect(canaries.size).toBeGreaterThan(60)
    expect(bytes.length).toBeGreaterThan(100_000)
    expect(findIn(bytes)).toEqual([])
  })

  test('finds planted text', { tags: 'slow' }, () => {
    for (const [what, value] of canaries) {
      const planted = Buffer.concat([Buffer.from('xy'), Buffer.from(value), Buffer.from('z')])
      expect(findIn(planted)).toContain(what)
      expect(findIn(Buffer.from(toHex(new Uint8Array(planted))))).toContain(what)
    }
    expect(bytes.includes(Buffer.from(readmeFile))).toBe(true)
  })
})
