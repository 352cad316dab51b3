// The reported residual access of a removed device, compared with what its keys really open: its
// identity is tried on every keyring of the history, and the keys from there on every record, every
// detail and every live memory (FORMAT §4, §7).

import { beforeEach, describe, expect, test } from 'vitest'
import { parseCommit } from '../../../src/format/commit.ts'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import type { Role } from '../../../src/format/directory.ts'
import {
  detailContext,
  memoryContext,
  openEnvelope,
  readKid,
  recordContext,
} from '../../../src/format/envelope.ts'
import { formatId, parseId } from '../../../src/format/id.ts'
import { decodeRecord, recordHash } from '../../../src/format/record.ts'
import type { AuditKeys, EpochKeys } from '../../../src/keys/epoch.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import { openAuditKeyring, openKeyring } from '../../../src/keys/keyring.ts'
import type { ResidualAccess } from '../../../src/store/devices/residual-access.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { alone } from '../../support/clones.ts'
import { author, contentsOf, newStore, reopen, type TestPlace } from '../../support/stores.ts'
import { copyDirectory, git, gitBytes, temporaryDirectory } from '../../support/temporary.ts'

let store: MemoryStore
let place: TestPlace
let other: Identity
let id: string

beforeEach(async () => {
  ;({ store, place } = await newStore())
  other = await generateIdentity()
  id = formatId('device', other.deviceId)
  await write('/before')
})

async function write(path: string, into: MemoryStore = store): Promise<void> {
  await into.as(author).apply([{ type: 'create', path, content: path }])
}

async function listed(): Promise<ResidualAccess | undefined> {
  return (await store.devices.list()).find(({ deviceId }) => deviceId === id)?.residualAccess
}

/** Each role in turn, a memory written in each, then none. */
async function pass(roles: readonly Role[]): Promise<ResidualAccess | undefined> {
  const [first = 'writer', ...later] = roles
  await store.as(author).devices.add(formatDeviceCard(other), first, alone)
  await write('/as-0')
  for (const [index, role] of later.entries()) {
    await store.as(author).devices.changeRole(id, role, alone)
    await write(`/as-${index + 1}`)
  }
  const { residualAccess } = await store.as(author).devices.remove([id], alone)
  return residualAccess
}

describe('a removed device', () => {
  test.each<{ roles: readonly Role[]; contents: number; memories: number }>([
    { roles: ['auditor'], contents: 0, memories: 0 },
    { roles: ['reader'], contents: 5, memories: 2 },
    { roles: ['writer', 'auditor'], contents: 5, memories: 2 },
    { roles: ['auditor', 'writer'], contents: 7, memories: 3 },
    { roles: ['auditor', 'writer', 'auditor'], contents: 7, memories: 3 },
    { roles: ['reader', 'auditor', 'owner', 'auditor'], contents: 9, memories: 4 },
  ])(
    'that was $roles reads contents of $contents',
    { tags: 'slow' },
    async ({ roles, contents, memories }) => {
      // Genesis, /before and the removal; each change of role and each write in between.
      const commits = 3 + 2 * roles.length
      const said = await pass(roles)
      expect(said).toEqual({ commits, commitsWithContents: contents, memories })
      await write('/after')
      expect(await listed()).toEqual(said)
      // It cannot read a text that is rewritten later.
      await store.as(author).apply([{ type: 'edit', path: '/before', edit: () => 'new' }])
      expect(await listed()).toEqual({ ...said, memories: Math.max(0, memories - 1) })
      const { id: storeId } = store
      await store.close()
      expect(await tried(place.directory, storeId, other)).toEqual({
        commits,
        commitsWithContents: contents,
        memories: Math.max(0, memories - 1),
      })
    },
  )

  test(
    'that was a writer, then an auditor, reads the reported part',
    { tags: 'slow' },
    async () => {
      await store.as(author).devices.add(formatDeviceCard(other), 'writer', alone)
      await store.close()
      const root = temporaryDirectory()
      copyDirectory(place.directory, `${root}/store`)
      store = await reopen(place)
      const lowered = await store.as(author).devices.changeRole(id, 'auditor', alone)
      await write('/hidden')
      const removed = await store.as(author).devices.remove([id], alone)
      const old = await reopen(place, {
        directory: `${root}/store`,
        stateDirectory: `${root}/state`,
        identity: other,
      })
      expect(await contentsOf(old)).toEqual({ '/before': '/before' })
      await old.close()
      expect(lowered.residualAccess).toEqual({ commits: 4, commitsWithContents: 4, memories: 1 })
      expect(removed.residualAccess).toEqual({ commits: 6, commitsWithContents: 4, memories: 1 })
      await store.close()
    },
  )
})

test('several together read whatever one of them reads', async () => {
  const auditor = await generateIdentity()
  await store.as(author).devices.add(formatDeviceCard(other), 'reader', alone)
  await store.as(author).devices.add(formatDeviceCard(auditor), 'auditor', alone)
  await store.as(author).devices.changeRole(id, 'auditor', alone)
  await write('/hidden')
  const { residualAccess } = await store
    .as(author)
    .devices.remove([id, formatId('device', auditor.deviceId)], alone)
  expect(residualAccess).toEqual({ commits: 7, commitsWithContents: 5, memories: 1 })
  await store.close()
})

/** Opens everything with every key that was ever sealed to an identity. */
async function tried(directory: string, name: string, identity: Identity): Promise<ResidualAccess> {
  const storeId = parseId('store', name)
  const audit = new Map<string, AuditKeys>()
  const full = new Map<string, EpochKeys>()
  const commits = git(['rev-list', 'main'], directory).trim().split('\n')
  for (const commit of commits) {
    const keyring = gitBytes(['cat-file', 'blob', `${commit}:keyring`], directory)
    const audited = await openAuditKeyring(keyring, identity).catch(() => undefined)
    for (const [kid, keys] of audited?.epochs ?? []) audit.set(kid, keys)
    const unlock = { type: 'identity', identity } as const
    const opened = await openKeyring(keyring, storeId, unlock).catch(() => undefined)
    for (const [kid, keys] of opened?.epochs ?? []) full.set(kid, keys)
  }
  const opens = commits.map((commit) => {
    return opensCommit(gitBytes(['cat-file', 'commit', commit], directory), audit, full)
  })
  const entries = git(['ls-tree', '-r', 'main', 'm/'], directory).trim().split('\n')
  return {
    commits: opens.filter(({ record }) => record).length,
    commitsWithContents: opens.filter(({ contents }) => contents).length,
    memories: entries.filter((entry) => opensMemory(directory, entry, full)).length,
  }
}

function opensCommit(
  bytes: Uint8Array,
  audit: ReadonlyMap<string, AuditKeys>,
  full: ReadonlyMap<string, EpochKeys>,
): { readonly record: boolean; readonly contents: boolean } {
  const { record, detail } = parseCommit(bytes)
  const kid = readKid('record', record)
  const keys = audit.get(kid)
  if (keys === undefined) return { record: false, contents: false }
  const opened = openEnvelope('record', keys.record, recordContext(keys), record)
  const own = full.get(kid)
  if (own !== undefined && detail !== undefined) {
    const context = detailContext(own, recordHash(own, decodeRecord(opened).signed))
    openEnvelope('detail', own.detail, context, detail)
  }
  return { record: true, contents: own !== undefined }
}

function opensMemory(
  directory: string,
  entry: string,
  full: ReadonlyMap<string, EpochKeys>,
): boolean {
  const [meta = '', path = ''] = entry.split('\t')
  const blob = gitBytes(['cat-file', 'blob', meta.split(' ')[2] ?? ''], directory)
  const keys = full.get(readKid('memory', blob))
  if (keys === undefined) return false
  const memoryId = path.replace(/^m\//, '').replaceAll('/', '')
  return (
    attempt(() => {
      return openEnvelope('memory', keys.memory, memoryContext(keys, memoryId), blob)
    }) !== undefined
  )
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
