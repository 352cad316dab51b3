// Files of a store are damaged, one at a time: a flipped bit, a cut, garbage, an empty file, a
// missing one. A repair from nothing, or from any of the copies, leaves a store that verifies with
// everything that is readable anywhere, or reports the exact loss; and it throws nothing away.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { framesOf, surveyJournals } from '../../src/git/journal/journal-survey.ts'
import { RepositorySurvey } from '../../src/git/repair/repository-survey.ts'
import type { MemoryStore } from '../../src/index.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import type { RepairReport } from '../../src/store/repair/report.ts'
import { atOnce } from '../../src/time-slice.ts'
import {
  copyOfWorld,
  type DamagedWorld,
  damagedWorld,
  filesToHarm,
  harm,
  harms,
} from '../support/damaged-stores.ts'
import { everyDeath, killed, unplugged } from '../support/deaths.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { startGitServer } from '../support/git-server.ts'
import { full, seed } from '../support/seed.ts'
import { author, contentsOf, reopen, type TestPlace } from '../support/stores.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

const sources = ['none', 'remote', 'copy', 'bare', 'otherClone'] as const
type Source = (typeof sources)[number]
const places = full ? [0, 0.01, 0.2, 0.5, 0.8, 0.999] : [0.01, 0.6]
/** By default one case in 47. */
const oneIn = full ? 1 : 47

const root = sharedDirectory()
let world: DamagedWorld

beforeAll(async () => {
  world = await damagedWorld(root)
})

/** Memories that are not in the journal alone. */
const packedCount = 7

function pick<T>(from: Readonly<Record<string, T>>, keys: object): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([key]) => key in keys))
}

function repair(place: TestPlace, source: Source, more = {}): Promise<RepairReport> {
  const { directory, stateDirectory, identity } = place
  const from = source === 'none' ? undefined : world[source]
  return repairStore({ directory, stateDirectory, identity, from, ...more })
}

/** The commits that are readable in the store and in files moved aside. */
async function readable(place: TestPlace): Promise<ReadonlySet<string>> {
  const survey = atOnce(RepositorySurvey.of(systemDisk, place.directory))
  const commits = new Set(await survey.commitIds(undefined))
  survey.close()
  return commits
}

describe('A damaged store', () => {
  for (const source of sources) {
    test(
      `is mended from ${source}, or the loss is reported`,
      { tags: 'slow', timeout: 600_000 },
      async () => {
        const files = filesToHarm(world.place)
        let number = sources.indexOf(source)
        for (const { kind, file } of files) {
          for (const how of harms) {
            for (const where of places) {
              number += 1
              if ((number + seed) % oneIn !== 0) continue
              const place = copyOfWorld(world)
              const path = file
                .replace(world.place.directory, place.directory)
                .replace(world.place.stateDirectory, place.stateDirectory)
              harm(path, how, where)
              const label = `${kind}, ${how} at ${where}, from ${source}`
              await checkRepair(place, source, label, kind)
            }
          }
        }
      },
    )
  }
})

async function checkRepair(
  place: TestPlace,
  source: Source,
  label: string,
  kind: string,
): Promise<void> {
  const before = await readable(place)
  const report = await repair(place, source).catch((error: unknown) => {
    // Nothing is left, and no copy is named.
    expect(error, label).toMatchObject({ code: 'object_missing' })
    expect([source, kind], label).toEqual(['none', 'pack'])
    return undefined
  })
  if (report === undefined) return
  const after = await readable(place)
  expect(
    [...before].filter((oid) => !after.has(oid)),
    label,
  ).toEqual([])
  // Whatever is damaged is in the copy of all files.
  if (source === 'copy' || !['pack', 'journal'].includes(kind)) {
    expect(report.whole, `${label}: ${JSON.stringify(report)}`).toBe(true)
  }
  if (!report.whole) {
    const said = report.missing.length + report.detached.length + Number(report.anchor === 'behind')
    expect(said, `${label}: ${JSON.stringify(report)}`).toBeGreaterThan(0)
    return
  }
  const store = await reopen(place)
  const contents = await contentsOf(store)
  // That a journal was longer, nothing tells but a copy.
  const isCut = kind === 'journal' && Object.keys(contents).length >= packedCount
  expect(contents, label).toEqual(isCut ? pick(world.contents, contents) : world.contents)
  await store.maintenance.verify()
  await store.close()
  git(['fsck', '--strict', '--no-dangling'], place.directory)
  expect((await repair(place, 'none')).sound, label).toBe(true)
}

test(
  'Commits on a host are fetched over http, and unsent work is kept',
  { tags: 'slow' },
  async () => {
    const place = copyOfWorld(world)
    const { url } = await startGitServer({ repository: world.remote })
    const sent = git(['rev-parse', 'main'], world.remote).trim()
    const pack = filesToHarm(place).find(({ kind, file }) => {
      const index = file.replace(/\.pack$/, '.idx')
      return kind === 'pack' && git(['show-index'], '/', readFileSync(index)).includes(sent)
    })
    // The sent commits come first, and the others build on them.
    harm(pack?.file ?? '', 'garbage', 0.02)
    const { directory, stateDirectory, identity } = place
    const report = await repairStore({ directory, stateDirectory, identity, from: url })
    expect(report).toMatchObject({ whole: true, missing: [], detached: [] })
    expect(report.saved.elsewhere).toBeGreaterThan(0)
    expect(existsSync(`${directory}/gitlocket/repair`)).toBe(false)
    const store = await reopen(place)
    expect(await contentsOf(store)).toEqual(world.contents)
    await store.close()
  },
)

/** Flips a bit of a pack, removes an index, and empties a branch file. */
function harmMuch(place: TestPlace): void {
  const files = filesToHarm(place)
  const [first, last] = [files.find(({ kind }) => kind === 'pack'), files.findLast(isIndex)]
  harm(first?.file ?? '', 'flip', 0.5)
  harm(last?.file ?? '', 'remove', 0)
  harm(`${place.directory}/refs/heads/main`, 'empty', 0)
}

function isIndex({ kind }: { readonly kind: string }): boolean {
  return kind === 'index'
}

describe('A repair that dies', () => {
  test(
    'at any file operation is finished by the next one',
    { tags: 'slow', timeout: 600_000 },
    async () => {
      const counting = new FaultyDisk()
      const whole = copyOfWorld(world)
      harmMuch(whole)
      expect((await repair(whole, 'copy', { disk: counting })).whole).toBe(true)
      const { operations } = counting
      expect(operations).toBeGreaterThan(20)
      const every = full ? 1 : 13
      for (let at = 1 + (seed % every); at <= operations; at += every) {
        for (const death of full ? everyDeath : [killed, unplugged]) {
          const place = copyOfWorld(world)
          harmMuch(place)
          const disk = new FaultyDisk({ kind: 'death', at, ...death })
          await repair(place, 'copy', { disk }).catch((error: unknown) => {
            if (!(error instanceof SimulatedDeath)) throw error
          })
          disk.release()
          const label = `${disk.log.at(-1)}, ${death.moment}, ${death.loss}`
          const again = await repair(place, 'copy')
          expect(again.whole, label).toBe(true)
          const store = await reopen(place)
          expect(await contentsOf(store), label).toEqual(world.contents)
          await store.close()
        }
      }
    },
  )
})

describe('An erased text', () => {
  const reason = 'leaked_secret'
  const forget = async (store: MemoryStore, path: string): Promise<string> => {
    const [version] = (await store.history.versions({ path })).data
    const versionId = version?.versionId ?? ''
    await store.as(author).apply([{ type: 'delete', path }])
    await store.as(author).redact({ select: { versionIds: [versionId] }, reason })
    return versionId
  }

  test(
    'does not return from a backup, and is erased from the damaged files',
    { tags: 'slow' },
    async () => {
      const redacted = copyOfWorld(world)
      const store = await reopen(redacted)
      const versionId = await forget(store, '/packed/1.md')
      const expected = await contentsOf(store)
      await store.close()
      let mended = 0
      for (const where of [0.2, 0.4, 0.6, 0.8]) {
        const place = copyOfWorld({ place: redacted })
        for (const { kind, file } of filesToHarm(place))
          if (kind === 'pack') harm(file, 'flip', where)
        // Of before the redaction: it has the objects that both histories share.
        const report = await repair(place, 'copy')
        expect(report.damages).not.toEqual([])
        if (!report.whole) continue
        mended += 1
        const again = await reopen(place)
        expect(await contentsOf(again)).toEqual(expected)
        expect((await again.history.version(versionId)).content).toBeUndefined()
        expect((await again.maintenance.findResidue()).found).toEqual([])
        await forget(again, '/packed/0.md')
        await again.close()
        const aside = `${place.directory}/gitlocket/damaged`
        const left = readdirSync(aside, { recursive: true, withFileTypes: true })
        expect(left.filter((entry) => entry.isFile())).toEqual([])
      }
      expect(mended).toBeGreaterThan(0)
    },
  )

  test('remains erased if only an older backup is whole', { tags: 'slow' }, async () => {
    const place = copyOfWorld(world)
    const store = await reopen(place)
    await forget(store, '/packed/1.md')
    await store.close()
    for (const { kind, file } of filesToHarm(place)) if (kind === 'pack') harm(file, 'empty', 0)
    await expect(repair(place, 'copy')).rejects.toMatchObject({ code: 'redaction_undone' })
  })
})

describe('Commands behind a lost one', () => {
  test(
    'are listed, kept, and attached once a copy has the lost one',
    { tags: 'slow' },
    async () => {
      const place = copyOfWorld(world)
      const journal = filesToHarm(place).find(({ kind, file }) => {
        return kind === 'journal' && readFileSync(file).includes(frameOfSecond(place))
      })
      const file = journal?.file ?? ''
      const bytes = readFileSync(file)
      // In an object of the second command: the name of its commit stands before them.
      const at = bytes.indexOf(frameOfSecond(place))
      bytes.fill(0x5a, at + 30, at + 60)
      writeFileSync(file, bytes)
      const alone = await repair(place, 'none')
      const lost = ['/journal/3.md', '/journal/2.md', '/journal/1.md']
      expect(alone.whole).toBe(false)
      expect(alone.verdict).toBeUndefined()
      expect(alone.detached.flatMap(({ paths }) => paths)).toEqual(lost)
      const store = await reopen(place)
      expect(Object.keys(await contentsOf(store))).not.toContain('/journal/1.md')
      await store.close()
      const mended = await repair(place, 'copy')
      expect(mended).toMatchObject({ whole: true, detached: [] })
      const whole = await reopen(place)
      expect(await contentsOf(whole)).toEqual(world.contents)
      await whole.close()
    },
  )
})

/** The name of the commit of the second command in the journal. */
function frameOfSecond(place: TestPlace): Buffer {
  const own = `${place.directory}/gitlocket`
  const frames = [...surveyJournals(systemDisk, own).values()].flatMap(({ before }) => {
    return framesOf(before)
  })
  return Buffer.from(frames.at(-3)?.next ?? '', 'hex')
}
