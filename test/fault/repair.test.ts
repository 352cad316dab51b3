// Files of a store are damaged, one at a time: a flipped bit, a cut, garbage, an empty file, a
// missing one. A repair from nothing, or from any of the copies, leaves a store that verifies with
// all that was readable anywhere, or says exactly what is lost; and it throws nothing away.

import { beforeAll, describe, expect, test } from 'vitest'
import { systemDisk } from '../../src/git/disk.ts'
import { RepositorySurvey } from '../../src/git/repository-survey.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import type { RepairReport } from '../../src/store/repair/report.ts'
import { copyOfWorld, damagedWorld, filesToHarm, harm, harms } from '../support/damaged-stores.ts'
import type { DamagedWorld } from '../support/damaged-stores.ts'
import { full, seed } from '../support/seed.ts'
import { contentsOf, reopen } from '../support/stores.ts'
import type { TestPlace } from '../support/stores.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

const sources = ['none', 'remote', 'copy', 'bare', 'otherClone'] as const
type Source = (typeof sources)[number]
const places = full ? [0, 0.01, 0.2, 0.5, 0.8, 0.999] : [0.01, 0.6]
/** By default one case in so many. */
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

/** Of the whole store, and what has been moved aside. */
function readable(place: TestPlace): ReadonlySet<string> {
  const survey = new RepositorySurvey(systemDisk, place.directory)
  const commits = new Set(survey.commitIds())
  survey.close()
  return commits
}

describe('A damaged store', () => {
  for (const source of sources) {
    test(`is mended from ${source}, or it is said what is lost`, async () => {
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
    }, 600_000)
  }
})

async function checkRepair(
  place: TestPlace,
  source: Source,
  label: string,
  kind: string,
): Promise<void> {
  const before = readable(place)
  const report = await repair(place, source).catch((error: unknown) => {
    // Nothing is left, and no copy is named.
    expect(error, label).toMatchObject({ code: 'object_missing' })
    expect([source, kind], label).toEqual(['none', 'pack'])
    return undefined
  })
  if (report === undefined) return
  const after = readable(place)
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
  await store.verify()
  await store.close()
  git(['fsck', '--strict', '--no-dangling'], place.directory)
  expect((await repair(place, 'none')).sound, label).toBe(true)
}
