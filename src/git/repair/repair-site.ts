// The file changes of a repair, under both locks of the store: objects are added first, then the
// branch moves, and damaged files are moved aside last, where they stay until a redaction erases. A
// crash in between keeps everything readable, so that the next repair has the same result. Must
// decide nothing: store/repair/ does.

import { resolve } from 'node:path'
import { toHex, utf8 } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { hasCode } from '../../errors.ts'
import { lockWaitMsDefault, MEBIBYTE } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import type { Remote } from '../exchange.ts'
import { journalNames } from '../journal/journal-survey.ts'
import { Journal } from '../journal/journal.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import { OidList } from '../objects/oid-list.ts'
import { packNames } from '../pack/pack-inspection.ts'
import { removeMultiPackIndex } from '../pack/pack-removal.ts'
import { type PackObject, writePack } from '../pack/pack-writer.ts'
import { encodeIntent, openIntent } from '../purge/purge-intent.ts'
import { asideName, fetchedName } from '../purge/purge-intents.ts'
import { Branch, branchName } from '../refs/branch.ts'
import {
  checkpointLock,
  type GitFileLockContext,
  replaceUnderLock,
  writerLock,
} from '../refs/git-file-lock.ts'
import { removeRef } from '../refs/ref-list.ts'
import { readRemotes } from '../refs/remotes.ts'
import {
  checkHasNoLinks,
  checkRepository,
  damagedSetup,
  isSetupDirectory,
  ownDirectoryName,
  repositoryFiles,
  type SetupFile,
  writeSetup,
} from '../refs/repository.ts'
import { readTrackingRef, trackedNames, trackingRefName } from '../refs/tracking-ref.ts'
import { asideDirectories, type Damage, damageOf, RepositorySurvey } from './repository-survey.ts'

/** The most bytes of objects that one new pack holds. */
const packedBytesMax = 32 * MEBIBYTE

export interface LiveJournal {
  readonly head: Oid
  /** The oids of the objects that it holds. */
  readonly oids: ReadonlySet<Oid>
}

export interface TrackedRemote {
  readonly remote: string
  /** Undefined if the file is damaged. */
  readonly oid: Oid | undefined
}

/** Commits that the history of a head has replaced, and objects that only they reach. */
export interface Erased {
  readonly commits: readonly Oid[]
  readonly dead: ReadonlySet<Oid>
}

export class RepairSite {
  readonly disk: Disk
  readonly directory: string
  readonly #files: GitFileLockContext
  readonly #secret: Uint8Array
  readonly #locks: readonly [ProcessLock, ProcessLock]
  readonly #setup: readonly SetupFile[]
  /** Packs that this repair has written, perhaps in place of an incomplete or damaged one. */
  readonly #added: Set<string> = new Set()
  #aside: string | undefined

  /**
   * `secret` is that of `DiskObjectStoreOptions`. Throws what `checkRepository` throws, unless the
   * directory holds a damaged store.
   */
  constructor(disk: Disk, directory: string, random: Random, secret: Uint8Array) {
    this.disk = disk
    this.#secret = secret
    this.directory = resolve(directory)
    this.#files = repositoryFiles(disk, this.directory, random)
    this.#setup = this.#checkSetup()
    // In the order in which a checkpoint takes them.
    this.#locks = [checkpointLock(this.#files), writerLock(this.#files)]
  }

  /** Runs `work` while no other process writes. Throws `locked`. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    const [checkpoint, writer] = this.#locks
    this.disk.makeDirectory(this.#files.ownDirectory)
    try {
      return await checkpoint.hold(lockWaitMsDefault, () => {
        return writer.hold(lockWaitMsDefault, () => this.#withoutFetched(work))
      })
    } finally {
      for (const lock of this.#locks) lock.abandon()
      await this.#files.identity.remove()
    }
  }

  /** The path of a directory for fetched files; removed before and after the repair. */
  get fetched(): string {
    return `${this.#files.ownDirectory}/${fetchedName}`
  }

  /** Where this repair has moved files, relative to the repository; undefined if it moved none. */
  get aside(): string | undefined {
    return this.#aside?.slice(this.directory.length + 1)
  }

  /** Throws `cancelled`. */
  survey(signal: AbortSignal | undefined): Promise<RepositorySurvey> {
    return inSlices(RepositorySurvey.of(this.disk, this.directory), signal)
  }

  /**
   * The damage of refs, config, intents and the journal; then that of objects. `kept` are the
   * objects of the history.
   */
  damages(survey: RepositorySurvey, kept: ReadonlySet<Oid>): readonly Damage[] {
    const branch = this.branch()
    const refs = 'problem' in branch ? [{ file: branchName, problem: branch.problem }] : []
    const lost = this.lostTracked(survey).map(({ remote, oid }): Damage => {
      const problem =
        oid === undefined ? 'it does not hold the name of a commit' : 'its commit is lost'
      return { file: trackingRefName(remote), problem }
    })
    const setup = this.#setup.map(({ name, problem }): Damage => ({ file: name, problem }))
    const intents = this.badIntents(kept).map(({ name, problem }): Damage => {
      return { file: `${ownDirectoryName}/${name}`, problem }
    })
    const journal = this.#journalDamage(branch)
    return [...setup, ...refs, ...lost, ...journal, ...intents, ...damageOf(survey)]
  }

  /** Tracking refs without a readable commit. */
  lostTracked(survey: RepositorySurvey): readonly TrackedRemote[] {
    return this.tracked().filter(({ oid }) => oid === undefined || survey.read(oid) === undefined)
  }

  /** The commit of the branch, or its fault. */
  branch(): { readonly value: Oid } | { readonly problem: string } {
    try {
      const value = new Branch(this.disk, this.directory).read()
      return value === undefined ? { problem: 'it is missing' } : { value }
    } catch (error) {
      if (!hasCode(error, 'ref_corrupt')) throw error
      return { problem: 'it does not hold the name of a commit' }
    }
  }

  /**
   * The part of the journal that follows `branch`; undefined if it does not follow, or is damaged.
   */
  journalOn(branch: Oid): LiveJournal | undefined {
    const journal = this.#openJournal()
    try {
      journal.refresh()
      if (!journal.link(branch)) return undefined
      const oids = new Set(
        journal.liveFrames.flatMap(({ objects }) => objects.map(({ oid }) => oid)),
      )
      for (const oid of oids) journal.find(oid)
      return { head: journal.head ?? branch, oids }
    } catch (error) {
      if (hasCode(error, 'journal_corrupt', 'object_corrupt')) return undefined
      throw error
    } finally {
      journal.close()
    }
  }

  /** The tracking refs, with a remote's name such as `origin`; without a commit if damaged. */
  tracked(): readonly TrackedRemote[] {
    return trackedNames(this.disk, this.directory).flatMap((remote): readonly TrackedRemote[] => {
      try {
        const oid = readTrackingRef(this.disk, this.directory, remote)
        return oid === undefined ? [] : [{ remote, oid }]
      } catch (error) {
        if (!hasCode(error, 'ref_corrupt')) throw error
        return [{ remote, oid: undefined }]
      }
    })
  }

  /** Empty if the config cannot be read. */
  remotes(): readonly Remote[] {
    return this.#setup.some(({ name }) => name === 'config') ? [] : readRemotes(this.#files)
  }

  /** Rewrites damaged files such as HEAD and config. */
  async mendSetup(): Promise<void> {
    for (const file of this.#setup) {
      if (!isSetupDirectory(file)) await this.#keepCopy(file.name)
      await writeSetup(this.disk, this.directory, file)
    }
  }

  /** Adds objects in new packs, durably. Returns their number. */
  async addObjects(objects: Iterable<{ readonly oid: Oid } & GitObject>): Promise<number> {
    let batch: PackObject[] = []
    let [bytes, count] = [0, 0]
    const write = async (): Promise<void> => {
      if (batch.length > 0) {
        const { name } = await writePack(this.disk, this.#packDirectory, batch)
        this.#added.add(name)
      }
      batch = []
      bytes = 0
    }
    await makeDurableDirectory(this.disk, this.#packDirectory)
    for (const object of objects) {
      batch.push(object)
      bytes += object.body.length
      count += 1
      if (bytes > packedBytesMax) await write()
    }
    await write()
    return count
  }

  /** Writes the indexes that packs lack. */
  async addIndexes(survey: RepositorySurvey): Promise<void> {
    for (const { name, state, index } of survey.packs) {
      if (state !== 'index' || index === undefined) continue
      await atomicWrite(this.disk, `${this.#packDirectory}/${name}.idx`, index)
    }
  }

  /** Moves the branch, and moves the journals aside unless they reach the same commit. */
  async moveBranch(head: Oid): Promise<void> {
    const branch = this.branch()
    if (!('value' in branch) || branch.value !== head) {
      await this.#keepCopy(branchName)
      await makeDurableDirectory(this.disk, `${this.directory}/refs/heads`)
      await replaceUnderLock(this.#files, branchName, utf8(`${head}\n`), () => undefined)
    }
    if (this.journalOn(head)?.head === head) return
    for (const name of journalNames) await this.#moveAside(`${ownDirectoryName}/${name}`)
  }

  /**
   * Purge intents that are not obeyed: damaged ones, those that this device has not written, and
   * those that would erase an object of `kept`.
   */
  badIntents(
    kept: ReadonlySet<Oid>,
  ): readonly { readonly name: string; readonly problem: string }[] {
    const { ownDirectory } = this.#files
    const names = this.disk.list(ownDirectory).filter((name) => /^purge-[0-9a-f]{16}$/.test(name))
    return names.flatMap((name) => {
      const bytes = this.disk.readFile(`${ownDirectory}/${name}`) ?? new Uint8Array(0)
      const problem = problemOf(name, bytes, this.#secret, kept)
      return problem === undefined ? [] : [{ name, problem }]
    })
  }

  /**
   * Replaces intents that are not obeyed by one that erases what redactions have replaced in the
   * history of `head`, which reaches `kept`.
   */
  async replaceIntents(
    head: Oid,
    { commits, dead }: Erased,
    kept: ReadonlySet<Oid>,
  ): Promise<void> {
    const { ownDirectory, random } = this.#files
    const bad = this.badIntents(kept)
    const [expected] = commits
    if (bad.length > 0 && expected !== undefined) {
      const intent = { expected, next: head, packs: [], dead: OidList.of(dead) }
      const path = `${ownDirectory}/purge-${toHex(random(8))}`
      await atomicWrite(this.disk, path, encodeIntent(intent, this.#secret))
    }
    for (const { name } of bad) await this.#moveAside(`${ownDirectoryName}/${name}`)
  }

  /** Removes a tracking ref whose commit is lost: the remote then is treated as never seen. */
  async dropTracked(remote: string): Promise<void> {
    const name = trackingRefName(remote)
    await this.#keepCopy(name)
    await removeRef(this.#files, name)
  }

  /** Called last: everything needed from these files has been added elsewhere. */
  async moveDamagedAside(survey: RepositorySurvey): Promise<void> {
    const damaged = survey.packs.filter(({ name, state }) => {
      return state === 'damaged' && !this.#added.has(name)
    })
    if (damaged.length > 0) removeMultiPackIndex(this.disk, this.#packDirectory)
    const files = this.disk.list(this.#packDirectory)
    for (const { name } of damaged) {
      const parts = files.filter((file) => file.startsWith(`${name}.`))
      for (const file of parts) await this.#moveAside(`objects/pack/${file}`)
    }
    for (const oid of survey.damagedLoose) {
      await this.#moveAside(`objects/${oid.slice(0, 2)}/${oid.slice(2)}`, oid)
    }
  }

  /** Removes the directory for fetched files before and after the work, even if it fails. */
  async #withoutFetched<T>(work: () => Promise<T>): Promise<T> {
    this.disk.removeTree(this.fetched)
    try {
      return await work()
    } finally {
      this.disk.removeTree(this.fetched)
    }
  }

  #checkSetup(): readonly SetupFile[] {
    const { disk, directory } = this
    const isStore = disk.stat(this.#files.ownDirectory) !== undefined || isRemnant(disk, directory)
    if (isStore) checkHasNoLinks(disk, directory)
    const damaged = isStore ? damagedSetup(disk, directory) : []
    if (damaged.length === 0) checkRepository(disk, directory)
    return damaged
  }

  #journalDamage(branch: ReturnType<RepairSite['branch']>): readonly Damage[] {
    const file = `${ownDirectoryName}/journal`
    const journal = this.#openJournal()
    try {
      journal.refresh()
    } catch (error) {
      if (!hasCode(error, 'journal_corrupt')) throw error
      return [{ file, problem: 'it is damaged' }]
    } finally {
      journal.close()
    }
    if (!('value' in branch) || this.journalOn(branch.value) !== undefined) return []
    return [{ file, problem: 'it does not follow the branch' }]
  }

  #openJournal(): Journal {
    const { disk, ownDirectory: directory, random } = this.#files
    // Called only under the writer lock.
    return new Journal({ disk, directory, random, isQuiet: () => true })
  }

  get #packDirectory(): string {
    return `${this.directory}/objects/pack`
  }

  async #moveAside(file: string, name = file.slice(file.lastIndexOf('/') + 1)): Promise<void> {
    const path = `${this.directory}/${file}`
    if (this.disk.stat(path) === undefined) return
    const aside = await this.#makeAside()
    this.disk.rename(path, `${aside}/${name}`)
    await this.disk.syncDirectory(aside)
  }

  /** Keeps a copy of a file that is about to be replaced. */
  async #keepCopy(file: string): Promise<void> {
    const bytes = this.disk.readFile(`${this.directory}/${file}`)
    if (bytes === undefined) return
    const aside = await this.#makeAside()
    await atomicWrite(this.disk, `${aside}/${file.replaceAll('/', '-')}`, bytes)
  }

  async #makeAside(): Promise<string> {
    if (this.#aside !== undefined) return this.#aside
    const { ownDirectory } = this.#files
    const last = asideDirectories(this.disk, ownDirectory).at(-1)?.split('/').at(-1) ?? '0'
    const aside = `${ownDirectory}/${asideName}/${Number(last) + 1}`
    await makeDurableDirectory(this.disk, aside)
    this.#aside = aside
    return aside
  }
}

/** Whether only packs are left of a repository; their commits show which store it was. */
function isRemnant(disk: Disk, directory: string): boolean {
  if (disk.stat(`${directory}/HEAD`) !== undefined) return false
  return packNames(disk, `${directory}/objects/pack`).length > 0
}

/** Why an intent is not obeyed, as a clause; undefined if it is. */
function problemOf(
  name: string,
  bytes: Uint8Array,
  secret: Uint8Array,
  kept: ReadonlySet<Oid>,
): string | undefined {
  try {
    const intent = openIntent(name, bytes, secret)
    if (intent === 'foreign') return 'this device has not written it'
    const isKept = [...kept].some((oid) => intent.dead.hasOid(oid))
    return isKept ? 'it would erase what the history needs' : undefined
  } catch (error) {
    if (!hasCode(error, 'journal_corrupt')) throw error
    return 'what it erases cannot be read'
  }
}
