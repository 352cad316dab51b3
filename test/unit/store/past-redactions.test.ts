// The records of redactions are grouped in one pass, however many there are. The next redaction
// removes the sealed files of those that were planned and not made, and no other file.

import { readdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { CommitEntry } from '../../../src/store/history/history-rows.ts'
import { groupRecords } from '../../../src/store/redaction/past-redactions.ts'
import { put } from '../../support/clones.ts'
import { author, newStore } from '../../support/stores.ts'

const COUNT = 10_000

interface Made {
  readonly height: number
  readonly time: number
  readonly deviceId?: string
}

/** A redact record that counts how often its height is read. */
function record({ height, time, deviceId = 'd' }: Made, read: () => void = () => {}): CommitEntry {
  return {
    oid: `${height}-${deviceId}`,
    position: height,
    get height() {
      read()
      return height
    },
    isCut: true,
    kind: 'redact',
    time,
    deviceId,
    actor: { type: 'user', id: 'anna' },
    session: undefined,
    reason: 'legal',
    redacts: [],
    note: undefined,
  }
}

function grouped(commits: readonly CommitEntry[]): readonly (readonly CommitEntry[])[] {
  const groups = groupRecords(commits)
  for (let step = groups.next(); ; step = groups.next()) if (step.done === true) return step.value
}

test('ten thousand redactions read each record once', () => {
  let reads = 0
  const commits = Array.from({ length: COUNT }, (_, index) => {
    return record({ height: 2 * index, time: index }, () => (reads += 1))
  })
  expect(grouped(commits)).toHaveLength(COUNT)
  expect(reads).toBe(COUNT)
})

test('records of one redaction follow one on the other, next to those of another device', () => {
  const commits = [
    record({ height: 1, time: 5 }),
    record({ height: 1, time: 5, deviceId: 'e' }),
    record({ height: 2, time: 5 }),
    record({ height: 2, time: 5, deviceId: 'e' }),
    record({ height: 3, time: 6 }),
    record({ height: 5, time: 6 }),
  ]
  const heights = grouped(commits).map((group) => group.map((one) => [one.deviceId, one.height]))
  expect(heights).toEqual([
    [
      ['d', 1],
      ['d', 2],
    ],
    [
      ['e', 1],
      ['e', 2],
    ],
    [['d', 3]],
    [['d', 5]],
  ])
})

test('two alike of a cloned device are both continued', () => {
  const pair = [1, 2].flatMap((height) => [
    record({ height, time: 5 }),
    record({ height, time: 5 }),
  ])
  expect(grouped(pair).map(({ length }) => length)).toEqual([2, 2])
})

test('a redaction removes the files of attempts that were not made, and no others', async () => {
  const { store, place } = await newStore()
  const redact = async (path: string): Promise<string> => {
    const versionIds = [await put({ store }, path, 'secret')]
    await put({ store }, path, 'nothing')
    const request = { select: { versionIds }, reason: 'legal' } as const
    return (await store.as(author).redact(request)).certificate?.records[0] ?? ''
  }
  const first = await redact('/a.md')
  const files = (): readonly string[] =>
    readdirSync(place.stateDirectory, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.includes('.erasures/'))
      .map((name) => `${place.stateDirectory}/${name}`)
  const [file = ''] = files()
  const directory = dirname(file)
  const [unmade, dropped] = ['a'.repeat(64), 'b'.repeat(64)]
  const temporary = `${unmade}.pending.0123456789abcdef.tmp`
  for (const name of [`${unmade}.pending`, temporary, dropped]) {
    writeFileSync(`${directory}/${name}`, 'sealed')
  }
  // As if the process had died once the branch had moved.
  renameSync(file, `${file}.pending`)
  expect(await store.maintenance.issueCertificate(first)).toMatchObject({ objectIds: 'known' })
  const second = await redact('/b.md')
  expect(files().toSorted()).toEqual(
    [first, second, dropped].map((name) => `${directory}/${name}`).toSorted(),
  )
  for (const made of [first, second]) {
    const { objectIds } = await store.maintenance.issueCertificate(made)
    expect(objectIds).toBe('known')
  }
})
