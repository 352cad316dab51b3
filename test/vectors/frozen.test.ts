// The frozen store opens with every secret and role, in the product and in the reference decoder.
// A store of an unreleased layout is refused as such, whatever is asked of it.

import { mkdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  auditStore,
  generateIdentity,
  type Identity,
  joinStore,
  openStore,
  parseIdentity,
} from '../../src/index.ts'
import { storeIdAt } from '../support/clones.ts'
import { readStore } from '../support/reference/store.ts'
import type { Secret } from '../support/reference/unlock.ts'
import { author, contentsOf } from '../support/stores.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary.ts'
import { frozenDirectory, readFrozenStore, unreleasedDirectory } from './frozen.ts'

const frozen = readFrozenStore()

/** A copy, since opening writes. git keeps no empty directory, and needs `refs`. */
function copyOf(source: string): { directory: string; stateDirectory: string } {
  const root = temporaryDirectory()
  copyDirectory(source, `${root}/store`)
  mkdirSync(`${root}/store/objects/info`, { recursive: true })
  return { directory: `${root}/store`, stateDirectory: `${root}/state` }
}

describe('the frozen store', () => {
  test.each(['owner', 'writer', 'reader'] as const)('opens for its %s', async (role) => {
    const identity = await parseIdentity(frozen[role])
    const store = await openStore({ ...copyOf(`${frozenDirectory}/store`), identity })
    expect(await contentsOf(store)).toEqual(frozen.memories)
    const { commits, headFingerprint, storeId } = await store.status()
    expect([storeId, commits]).toEqual([frozen.storeId, frozen.commits])
    expect(headFingerprint.join(' ')).toBe(frozen.words)
    await store.maintenance.verify()
    await store.close()
  })

  test.each([
    ['recovery key', { recoveryKey: frozen.recoveryKey }],
    ['passphrase', { passphrase: frozen.passphrase }],
  ])('opens with its %s', { tags: 'slow' }, async (_, secret) => {
    const identity = await generateIdentity()
    const store = await openStore({ ...copyOf(`${frozenDirectory}/store`), identity, ...secret })
    expect(await contentsOf(store)).toEqual(frozen.memories)
    await store.close()
  })

  test('is listed for its auditor', async () => {
    const identity = await parseIdentity(frozen.auditor)
    const audit = await auditStore({ ...copyOf(`${frozenDirectory}/store`), identity })
    expect(audit).toMatchObject({ storeId: frozen.storeId, role: 'auditor' })
    expect(audit.entries).toHaveLength(frozen.commits)
    expect(audit.headFingerprint.join(' ')).toBe(frozen.words)
  })

  const secrets: readonly (readonly [string, Secret])[] = [
    ['owner', { identity: frozen.owner }],
    ['recovery key', { recoveryKey: frozen.recoveryKey }],
  ]
  test.each(secrets)(
    'is read by the reference decoder, with its %s',
    { tags: 'slow' },
    (_, secret) => {
      const { memories, commits } = readStore(`${frozenDirectory}/store`, secret)
      const contents = [...memories].map(([path, { content }]) => [path, content])
      expect(Object.fromEntries(contents)).toEqual(frozen.memories)
      expect(commits).toHaveLength(frozen.commits)
    },
  )
})

describe('a store of an unreleased layout', () => {
  const recoveryKey = readFileSync(`${unreleasedDirectory}/recovery-key`, 'utf8')
  const own = (): Promise<Identity> => {
    return parseIdentity(readFileSync(`${unreleasedDirectory}/identity`, 'utf8'))
  }
  const uses: readonly (readonly [string, (at: ReturnType<typeof copyOf>) => Promise<unknown>])[] =
    [
      ['to open', async (at) => openStore({ ...at, identity: await own() })],
      [
        'to recover',
        async (at) => openStore({ ...at, identity: await generateIdentity(), recoveryKey }),
      ],
      ['to audit', async (at) => auditStore({ ...at, identity: await own() })],
      [
        'to join',
        async ({ directory: url, stateDirectory }) => {
          const at = { directory: `${stateDirectory}-new`, stateDirectory }
          const how = { url, storeId: storeIdAt(url), author, recoveryKey }
          return joinStore({ ...at, ...how, identity: await generateIdentity() })
        },
      ],
    ]
  test.each(uses)('asks for the version that made it: %s', async (_, use) => {
    await expect(use(copyOf(`${unreleasedDirectory}/store`))).rejects.toMatchObject({
      code: 'upgrade_required',
      message: expect.stringContaining('the version that made it'),
    })
  })
})
