// T89: an attacker copies the machine of a grant's holder, or as the host hides the end of a grant.
// No device is forked, and no write after the end is kept. T90: an attacker has the text of a grant
// alone, searches the files of a holder, or puts wraps, starts and local files in place of each
// other. FORMAT §3, §7.4, §12, §13.
// @module-tag slow

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { hash256 } from '../../src/crypto/digest.ts'
import {
  detailContext,
  type EnvelopeKeys,
  type EnvelopeType,
  memoryContext,
  openEnvelope,
  recordContext,
} from '../../src/format/envelope.ts'
import { StoreError } from '../../src/index.ts'
import { openStart } from '../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, parseGrant } from '../../src/keys/wraps.ts'
import { bareRemote, joinClone, put, sync } from '../support/clones.ts'
import {
  create,
  givenGrant,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  keysFor,
  shownAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { copyRemote, swapRemotes } from '../support/hostile-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'
import { copyDirectory, git, gitBytes, temporaryDirectory } from '../support/temporary.ts'

let world: GrantWorld
beforeEach(async () => {
  world = await givenGrant()
})

const anEnvelopeError = expect.objectContaining({ code: expect.stringMatching(/^envelope_/) })

describe('T89', () => {
  test('three machines from one image, in the middle of a session, fork nothing', async () => {
    const at = holderPlace()
    const first = await hold(world, at)
    await writeAs(first, create('/before.md'))
    await first.close()
    const places = [at, ...[1, 2].map(() => imageOf(at))]
    const stores = await Promise.all(places.map((place) => hold(world, place)))
    // The same change at the same time.
    await Promise.all(stores.map((store) => writeAs(store, create('/same.md', 'same'))))
    for (const [n, store] of stores.entries()) await writeAs(store, create(`/${n}.md`))
    for (const _ of [1, 2]) for (const store of stores) await syncHolder(store)
    await sync(world.granter)
    const contents = await contentsOf(world.granter.store)
    expect(Object.keys(contents)).toEqual(expect.arrayContaining(['/0.md', '/1.md', '/2.md']))
    expect(contents).toMatchObject({ '/before.md': '/before.md', '/same.md': 'same' })
    expect((await sync(world.granter)).forkedDevices).toEqual([])
    await world.granter.store.maintenance.verify()
    for (const store of stores) {
      await syncHolder(store)
      expect(await contentsOf(store)).toEqual(contents)
      await store.close()
    }
    const fresh = await joinClone(world.granter, world.url)
    await fresh.store.maintenance.verify()
    await fresh.store.close()
  })

  test('what a holder writes while the end is hidden is late where both meet', async () => {
    const held = await hold(world)
    const hidden = copyRemote(world.url)
    await world.granter.store.as(author).grants.end([world.grantId])
    swapRemotes(world.url, hidden)
    await writeAs(held, create('/late.md', 'late'))
    await syncHolder(held)
    const { code } = await sync(world.granter).catch((error: unknown) => Object(error))
    expect(code).toBe('rolled_back')
    swapRemotes(world.url, hidden)
    const refused = await syncHolder(held).catch((error: unknown) => Object(error))
    expect(['rolled_back', 'grant_expired']).toContain(refused.code)
    // It is shown both at last.
    git(['fetch', '-q', hidden, 'main'], world.url)
    const late = git(['rev-parse', 'FETCH_HEAD'], world.url).trim()
    const other = await joinClone(world.granter, world.url)
    await put(other, '/theirs.md')
    await sync(other)
    await sync(world.granter)
    const contents = await contentsOf(world.granter.store)
    expect(Object.keys(contents)).not.toContain('/late.md')
    expect(git(['rev-list', 'main'], world.url).split('\n')).not.toContain(late)
    expect((await held.read('/late.md'))?.content).toBe('late')
    await other.store.maintenance.verify()
    await other.store.close()
    await held.close()
  })
})

function imageOf(at: HolderPlace): HolderPlace {
  const root = temporaryDirectory()
  const copy = { directory: `${root}/store`, stateDirectory: `${root}/state` }
  copyDirectory(at.directory, copy.directory)
  copyDirectory(at.stateDirectory ?? '', copy.stateDirectory)
  return copy
}

/** Every file below a directory. */
function filesOf(root: string): readonly string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  return names.map((name) => join(root, name)).filter((path) => statSync(path).isFile())
}

describe('T90', () => {
  test('the text alone opens nothing of a remote', async () => {
    const text = parseGrant(world.grant)
    const keys = grantKeysOf(text)
    for (const path of ['main:keyring', 'main:settings']) {
      const bytes = gitBytes(['cat-file', 'blob', path], world.url)
      for (let at = 0; at + 608 <= bytes.length; at += 8) {
        const part = bytes.subarray(at, at + 608)
        expect(() => openEnvelope('wrap', keys.wrap, hash256(part), part)).toThrow(anEnvelopeError)
      }
    }
    const elsewhere = bareRemote()
    git(['push', '-q', elsewhere, 'main'], world.url)
    const at = { ...world, url: elsewhere }
    await expect(hold(at)).rejects.toMatchObject({ code: 'not_found' })
    await expect(hold(at, { full: true })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a holder leaves the text in no file, and no error quotes it', async () => {
    const at = holderPlace()
    const store = await hold(world, at)
    await writeAs(store, create('/own.md'))
    await syncHolder(store)
    await store.history.fetchAll()
    await writeAs(store, create('/unsent.md'))
    await world.granter.store.as(author).grants.end([world.grantId])
    const ended: unknown = await syncHolder(store).catch((error: unknown) => error)
    await store.close()
    const { secret } = parseGrant(world.grant)
    const forms = [
      world.grant,
      world.grant.slice(-40),
      toText(secret, 'hex'),
      toText(secret, 'base64'),
    ]
    const directory = at.directory
    const files = [...filesOf(directory), ...filesOf(at.stateDirectory ?? directory)]
    expect(files.length).toBeGreaterThan(5)
    for (const file of files) {
      const bytes = readFileSync(file)
      expect(bytes.includes(Buffer.from(secret)), file).toBe(false)
      for (const form of forms) expect(bytes.includes(form), file).toBe(false)
    }
    const mistyped = `${world.grant.slice(0, -1)}${world.grant.endsWith('A') ? 'B' : 'A'}`
    const errors = [
      ended,
      await hold(world).catch((error: unknown) => error),
      await hold({ ...world, grant: mistyped }).catch((error: unknown) => error),
      await hold({ ...world, url: '/nowhere.git' }).catch((error: unknown) => error),
    ]
    for (const error of errors) {
      const shown = inspect(error, { depth: 9 })
      expect(shown).toContain('StoreError')
      for (const form of forms) expect(shown).not.toContain(form)
    }
  })

  test('wraps and starts open as nothing else, and nothing else as one of them', () => {
    const epoch = keysFor(world)
    const { granterKey, storeId } = parseGrant(world.grant)
    const [start, wraps] = [shownAt(world, 'start'), shownAt(world, 'wraps')]
    const id = '0'.repeat(32)
    const others: readonly (readonly [EnvelopeType, EnvelopeKeys, Uint8Array])[] = [
      ['memory', epoch.memory, memoryContext(epoch, id)],
      ['detail', epoch.detail, detailContext(epoch, hash256(start))],
      ['record', epoch.record, recordContext(epoch)],
      ['settings', epoch.settings, memoryContext(epoch, id)],
      ['baseline', epoch.memory, hash256(start)],
      ['wrap', epoch.start, hash256(start)],
    ]
    const bodies = [start, start.subarray(104), wraps, ...decodeWraps(wraps).sealed]
    for (const [type, keys, context] of others) {
      for (const body of bodies) {
        expect(() => openEnvelope(type, keys, context, body), type).toThrow(anEnvelopeError)
      }
    }
    for (const body of bodies.slice(1)) {
      expect(() => openStart(body, epoch, granterKey, storeId)).toThrow(
        expect.objectContaining({ code: 'baseline_malformed' }),
      )
    }
    for (const body of [start, ...decodeWraps(wraps).sealed]) {
      expect(() => decodeWraps(body)).toThrow(expect.objectContaining({ code: 'wraps_malformed' }))
    }
  })

  test('files of a clone that are put in place of each other show no other contents', async () => {
    const at = holderPlace()
    const store = await hold(world, at)
    await writeAs(store, create('/own.md'))
    const contents = await contentsOf(store)
    await store.close()
    const places = [join(at.directory, 'gitlocket'), at.stateDirectory ?? '']
    const own = places.flatMap(filesOf).filter((path) => statSync(path).size > 0)
    expect(own.some((path) => path.endsWith('.anchor'))).toBe(true)
    expect(own.some((path) => path.endsWith('/start'))).toBe(true)
    expect(own.some((path) => path.includes('/wraps-'))).toBe(true)
    for (const one of own) {
      const kept = readFileSync(one)
      for (const other of own.filter((path) => path !== one && !path.includes('journal'))) {
        writeFileSync(one, readFileSync(other))
        const opened = await shownBy(at).catch((error: unknown) => error)
        if (opened instanceof Error) expect(opened, one).toBeInstanceOf(StoreError)
        else expect(opened).toEqual(contents)
      }
      writeFileSync(one, kept)
    }
  })
})

async function shownBy(at: HolderPlace): Promise<unknown> {
  const store = await hold(world, at)
  try {
    return await contentsOf(store)
  } finally {
    await store.close()
  }
}

function toText(bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return Buffer.from(bytes).toString(encoding)
}
