// An auditor's clone that two processes sync and audit concurrently: the slower one starts over at
// the head that the other has set, and the anchor never names less than the store.

import { AsyncLocalStorage } from 'node:async_hooks'
import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import type { Disk } from '../../../../src/disk/disk.ts'
import { ProcessLock } from '../../../../src/disk/process-lock.ts'
import { systemDisk } from '../../../../src/disk/system-disk.ts'
import { auditStore, formatIdentity } from '../../../../src/index.ts'
import { joinTrail, syncTrail, type TrailOptions } from '../../../../src/store/audit/trail.ts'
import {
  admit,
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  sync,
  trusting,
} from '../../../support/clones.ts'
import { branchOf, create, leak, moveBranch, redact } from '../../../support/hostile-remotes.ts'
import { full } from '../../../support/seed.ts'
import { copyDirectory, temporaryDirectory } from '../../../support/temporary.ts'

interface Audited {
  readonly writer: Clone
  readonly remote: string
  readonly auditor: TrailOptions
}

/** An auditor with a clone, of which the remote has redacted a version since. */
async function behindRedaction(): Promise<Audited> {
  const remote = bareRemote()
  const writer = await firstClone(remote)
  const identity = await admit(writer, 'auditor')
  const versionId = await leak(writer)
  await sync(writer)
  const auditor = placesIn(temporaryDirectory(), identity)
  await joinTrail({ ...auditor, ...trusting, url: `${remote}#${writer.store.id}` })
  await redact(writer, versionId)
  await sync(writer)
  return { writer, remote, auditor }
}

function placesIn(root: string, identity: TrailOptions['identity']): TrailOptions {
  return { directory: `${root}/clone`, stateDirectory: `${root}/state`, identity }
}

function copyOf({ directory, stateDirectory, identity }: TrailOptions): TrailOptions {
  const copy = placesIn(temporaryDirectory(), identity)
  copyDirectory(directory, copy.directory)
  copyDirectory(stateDirectory, copy.stateDirectory)
  return copy
}

/** The call in which a lock is taken: other stores of this process take theirs concurrently. */
const overtaken = new AsyncLocalStorage<boolean>()

/**
 * A sync that is overtaken: before it takes a lock, holding none, for the `number`th time, another
 * process does its work. Undefined if it takes no lock so often.
 */
async function syncOvertaken(
  options: TrailOptions,
  number: number,
  work: () => Promise<unknown>,
): Promise<Awaited<ReturnType<typeof syncTrail>> | undefined> {
  let [count, held] = [0, 0]
  const watch = () => vi.spyOn(ProcessLock.prototype, 'hold').mockImplementation(watched)
  async function watched<T>(this: ProcessLock, ...args: Hold<T>): Promise<T> {
    const isOurs = overtaken.getStore() === true
    if (isOurs && held === 0) {
      count += 1
      if (count === number) await overtaken.run(false, work)
    }
    held += Number(isOurs)
    spy.mockRestore()
    const done = this.hold(...args)
    spy = watch()
    return done.finally(() => {
      held -= Number(isOurs)
    })
  }
  let spy = watch()
  try {
    const report = await overtaken.run(true, () => syncTrail(options))
    return count >= number ? report : undefined
  } finally {
    spy.mockRestore()
  }
}

type Hold<T> = [waitMs: number, work: (isSame: boolean) => Promise<T>]

test(
  'a sync that is overtaken before any of its locks ends at the same head',
  { tags: 'slow' },
  async () => {
    const { writer, auditor } = await behindRedaction()
    const head = await headOf(writer)
    let number = 1
    for (; number < 20; number += 1) {
      const place = copyOf(auditor)
      const report = await syncOvertaken(place, number, () => syncTrail(place))
      if (report === undefined) break
      expect(report, `lock ${number}`).toMatchObject({ head })
      expect(await auditStore(place), `lock ${number}`).toMatchObject({ head })
      checkWithGit(place.directory)
    }
    expect(number).toBeGreaterThan(3)
  },
)

test('a sync that is overtaken with newer commits gets those too', { tags: 'slow' }, async () => {
  const { writer, auditor } = await behindRedaction()
  // When what it fetched comes in, and when that is verified.
  for (const number of [1, 2]) {
    const place = copyOf(auditor)
    const report = await syncOvertaken(place, number, async () => {
      await create(writer, `/${number}.md`)
      await sync(writer)
      await syncTrail(place)
    })
    const head = await headOf(writer)
    expect(report).toMatchObject({ head })
    expect(await auditStore(place)).toMatchObject({ head })
  }
})

test('the anchor does not move back with a sync that was overtaken', { tags: 'slow' }, async () => {
  const { writer, remote, auditor } = await behindRedaction()
  const newest = branchOf(remote)
  await syncTrail(auditor)
  await create(writer, '/more.md')
  await sync(writer)
  await syncTrail(auditor)
  const backup = copyOf(auditor)
  const more = branchOf(remote)
  moveBranch(remote, newest)
  const accepting = syncOvertaken({ ...auditor, acceptRolledBack: true }, 1, async () => {
    moveBranch(remote, more)
    await create(writer, '/newer.md')
    await sync(writer)
    await syncTrail(auditor)
    // So that it cannot start over.
    renameSync(remote, `${remote}.away`)
  })
  await expect(accepting).rejects.toMatchObject({ code: 'remote_not_found' })
  // The clone of before is older than what this device has verified since.
  const older = { ...backup, stateDirectory: auditor.stateDirectory }
  await expect(auditStore(older)).rejects.toMatchObject({ code: 'rolled_back' })
  expect(await auditStore(auditor)).toMatchObject({ head: await headOf(writer) })
})

test('an audit starts over if a sync erases its history', { tags: 'slow' }, async () => {
  const { writer, auditor } = await behindRedaction()
  const [before, head] = [branchOf(auditor.directory), await headOf(writer)]
  const counting = new WatchedDisk()
  await auditStore({ ...copyOf(auditor), disk: counting.disk })
  const heads: string[] = []
  for (const part of full ? tenths : [0.3, 0.5, 0.7]) {
    const place = copyOf(auditor)
    const at = Math.floor(counting.operations * part)
    const { disk } = new WatchedDisk(at, () => syncElsewhere(place))
    heads.push((await auditStore({ ...place, disk })).head)
    expect([before, head], `operation ${at}`).toContain(heads.at(-1))
    expect(await auditStore(place), `operation ${at}`).toMatchObject({ head })
  }
  expect(heads).toContain(head)
})

const tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]

/** The system's, which does something before one of its operations. */
class WatchedDisk {
  operations = 0
  readonly disk: Disk

  constructor(at?: number, work?: () => void) {
    const count = (): void => {
      this.operations += 1
      if (this.operations === at) work?.()
    }
    this.disk = new Proxy(systemDisk, {
      get(disk, name: keyof Disk) {
        const operation: unknown = disk[name]
        if (typeof operation !== 'function') return operation
        return (...args: unknown[]): unknown => {
          count()
          return operation.apply(disk, args)
        }
      },
    })
  }
}

/** In a process of its own, to the end, while nothing else runs here. */
function syncElsewhere({ directory, stateDirectory, identity }: TrailOptions): void {
  const root = temporaryDirectory()
  writeFileSync(`${root}/identity`, formatIdentity(identity))
  const program = new URL('../../../support/trail-process.mjs', import.meta.url).pathname
  execFileSync(process.execPath, [program, directory, stateDirectory, `${root}/identity`])
}
