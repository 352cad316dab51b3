// T13, T14: the history from before a redaction is restored, in whole or in part, for a device that
// knows of the redaction, one that knows the time before it, and one that knows nothing. FORMAT
// §8.1, §9, §10.
// @module-tag slow

import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import type { Identity } from '../../src/keys/identity.ts'
import { openStore } from '../../src/store/open.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import { memory, nextRow, standardHistory, version } from '../support/standard-forge.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const changes = 8

interface Histories {
  readonly before: Forge
  readonly redacted: Forge
  /** With the redact record, on the history from before. */
  readonly undone: Forge
}

async function historiesOf(length: number): Promise<Histories> {
  const { forge: before } = await standardHistory('replay')
  for (let index = 0; index < length; index += 1) {
    before.change([{ ...nextRow, content: `${index}`, versionId: labelOf(index) }])
  }
  const undone = before.fork()
  undone.redact([[memory.a, version.a1]])
  const redacted = undone.fork()
  redacted.rewrite(new Set([version.a1]))
  return { before, redacted, undone }
}

let before: Forge
let redacted: Forge
let undone: Forge
let victim: string
beforeAll(async () => {
  ;({ before, redacted, undone } = await historiesOf(changes))
  victim = formatId('version', before.idOf(version.a1))
})

interface Site {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

/** A repository with this history; its founder has not seen it yet. */
async function newSite(forge: Forge): Promise<Site> {
  const root = temporaryDirectory()
  const site = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  await writeForged(forge, site.directory)
  return { ...site, identity: forge.founder }
}

/** Opens, looks at the victim, and closes, so that anchor and caches are written. */
async function visit(site: Site): Promise<string> {
  return verdictOf(async () => {
    const store = await openStore(site)
    try {
      const { path, content } = await store.history.version(victim)
      if (path !== undefined || content !== undefined)
        throw new Error('shown_redacted: it is there')
    } finally {
      await store.close()
    }
  })
}

const shown = 'shown_redacted'

describe('T13, T14: a device that knows of the redaction', () => {
  test.each<[verdict: string, name: string, history: () => Forge]>([
    ['rolled_back', 'is given the history before it', () => before],
    [
      'rolled_back',
      'is given the history before it with newer changes',
      () => {
        const forge = before.fork()
        for (const versionId of [version.next, version.b2])
          forge.change([{ ...nextRow, versionId }])
        return forge
      },
    ],
    [
      'redaction_undone',
      'is given the history before it with the same redact record',
      () => undone,
    ],
    [
      'redaction_undone',
      'is given that with newer changes',
      () => {
        const forge = undone.fork()
        forge.change([nextRow])
        return forge
      },
    ],
  ])('%s: %s', { tags: 'slow' }, async (verdict, _, history) => {
    for (const caches of [true, false]) {
      const site = await newSite(redacted)
      expect(await visit(site)).toBe('accepted')
      await writeForged(history(), site.directory)
      if (!caches) rmSync(join(site.directory, 'gitlocket'), { recursive: true })
      expect(await visit(site)).toBe(verdict)
    }
  })

  test.each<[verdict: string, name: string, history: () => Forge]>([
    ['rolled_back', 'the history before it', () => before],
    ['redaction_undone', 'that with the same redact record', () => undone],
  ])('%s: is given %s while its store is open', async (verdict, _, history) => {
    const site = await newSite(redacted)
    const store = await openStore(site)
    await writeForged(history(), site.directory)
    expect(await verdictOf(() => store.read('/a.md'))).toBe(verdict)
    expect(await verdictOf(() => store.history.version(victim))).toBe(verdict)
    await store.close()
  })

  test(
    'is given its own caches from before the redaction, and shows nothing of them',
    { tags: 'slow' },
    async () => {
      // Enough changes for the device to cache the history too.
      const long = await historiesOf(300)
      const site = await newSite(long.before)
      expect(await visit(site)).toBe(shown)
      const caches = join(site.directory, 'gitlocket', 'cache')
      const names = readdirSync(caches, { recursive: true }).map(String)
      expect(names.some((name) => name.endsWith('/versions-0'))).toBe(true)
      cpSync(caches, `${site.directory}.caches`, { recursive: true })
      await writeForged(long.redacted, site.directory)
      expect(await visit(site)).toBe('accepted')
      rmSync(caches, { recursive: true, force: true })
      cpSync(`${site.directory}.caches`, caches, { recursive: true })
      expect(await visit(site)).toBe('accepted')
    },
  )

  test(
    'finds a cache from before the redaction by its proof of absence',
    { tags: 'slow' },
    async () => {
      const long = await historiesOf(300)
      const site = await newSite(long.before)
      await visit(site)
      const caches = join(site.directory, 'gitlocket', 'cache')
      cpSync(caches, `${site.directory}.caches`, { recursive: true })
      await writeForged(long.redacted, site.directory)
      const store = await openStore(site)
      const inCaches = async (): Promise<readonly unknown[]> => {
        const { found } = await store.maintenance.findResidue()
        return found.filter(({ place }) => place === 'cache')
      }
      rmSync(caches, { recursive: true, force: true })
      expect(await inCaches()).toEqual([])
      // The history alone: the state has only current versions.
      cpSync(`${site.directory}.caches`, caches, {
        recursive: true,
        filter: (path) => !path.endsWith('/state'),
      })
      expect(await inCaches()).toEqual([{ place: 'cache', versionId: victim }])
      await store.close()
    },
  )
})

describe('T13: a device that knows the history before the redaction', () => {
  test('accepts the redacted one, when it opens', async () => {
    const site = await newSite(before)
    expect(await visit(site)).toBe(shown)
    await writeForged(redacted, site.directory)
    expect(await visit(site)).toBe('accepted')
  })

  test('accepts it in an open store, and continues without the redacted text', async () => {
    const site = await newSite(before)
    const store = await openStore(site)
    expect((await store.history.version(victim)).content).toBe('alpha\n')
    await writeForged(redacted, site.directory)
    expect((await store.read('/a.md'))?.content).toBe(`${changes - 1}`)
    const { content, path, sha256, sizeBytes } = await store.history.version(victim)
    expect([content, path, sha256, sizeBytes]).toEqual(Array.from({ length: 4 }))
    await store.close()
  })

  test.each<[verdict: string, name: string, history: () => Forge]>([
    ['redaction_undone', 'that was not rewritten', () => undone],
    [
      'detail_missing',
      'that was rewritten without a record of it',
      () => {
        const forge = before.fork()
        forge.rewrite(new Set([version.a1]))
        return forge
      },
    ],
    [
      'detail_missing',
      'in which more is gone',
      () => {
        const forge = undone.fork()
        forge.rewrite(new Set([version.a1, version.a2]))
        return forge
      },
    ],
    [
      'rolled_back',
      'in which a later change is gone too',
      () => {
        const forge = before.fork()
        forge.entries = forge.entries.slice(0, -1)
        forge.memories = new Map([
          ...forge.memories,
          [forge.idOf(memory.a), stateOf(forge, changes - 2)],
        ])
        const last = forge.entries.at(-1)
        if (last !== undefined) forge.chains = chainOf(last, forge)
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1]))
        return forge
      },
    ],
  ])('%s: is given one %s', async (verdict, _, history) => {
    const site = await newSite(before)
    expect(await visit(site)).toBe(shown)
    const store = await openStore(site)
    await writeForged(history(), site.directory)
    expect(await verdictOf(() => store.read('/a.md'))).toBe(verdict)
    await store.close()
    expect(await visit(site)).toBe(verdict)
  })
})

describe('T13: a device that knows nothing', () => {
  test('redaction_undone: is given the redact record on the history before it', async () => {
    expect(await visit(await newSite(undone))).toBe('redaction_undone')
  })

  test('takes the history before the redaction for whole: the limit of first contact', async () => {
    expect(await visit(await newSite(before))).toBe(shown)
  })
})

function labelOf(index: number): string {
  return `version of change ${index}`
}

function stateOf(forge: Forge, index: number) {
  const memoryId = forge.idOf(memory.a)
  const versionId = forge.idOf(labelOf(index))
  const blob = forge.entries.at(-1)?.blobs.get(memoryId)
  const created = forge.memories.get(memoryId)?.created ?? 0
  return { versionId, operation: 'modified', path: '/a.md', created, blob } as const
}

function chainOf({ record, hash }: Forge['entries'][number], forge: Forge) {
  const { sequence, time, deviceId } = record
  return new Map([...forge.chains, [deviceId, { sequence, hash, time }]])
}
