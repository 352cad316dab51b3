// What a repair does to the files of a repository, under both locks of the store: objects are added
// first, then the branch moves, and what is damaged is moved aside last, where it stays until a
// redaction erases. A crash in between leaves a repository of which the same can be read, so that
// the next repair comes to the same end. Decides nothing: store/repair/ does.

import { resolve } from 'node:path'
import { toHex, utf8 } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { LockIdentity, ProcessLock } from '../../disk/process-lock.ts'
import { hasCode } from '../../errors.ts'
import { lockWaitMsDefault, MEBIBYTE } from '../../limits.ts'
import type { Remote } from '../exchange.ts'
import { journalNames } from '../journal/journal-survey.ts'
import { Journal } from '../journal/journal.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import { OidList } from '../objects/oid-list.ts'
import { packNames } from '../pack/pack-inspection.ts'
import { removeMultiPackIndex } from '../pack/pack-removal.ts'
import { type PackObject, writePack } from '../pack/pack-writer.ts'
import { decodeIntent, encodeIntent } from '../purge/purge-intent.ts'
import { asideName, fetchedName } from '../purge/repair-names.ts'
import { Branch, branchName } from '../refs/branch.ts'
import { type GitFileLockContext, replaceUnderLock } from '../refs/git-file-lock.ts'
import { removeRef } from '../refs/ref-list.ts'
import { readRemotes } from '../refs/remotes.ts'
import {
  damagedSetup,
  isSetupDirectory,
  type SetupFile,
  writeSetup,
} from '../refs/repository-setup.ts'
import { checkRepository, ownDirectoryName } from '../refs/repository.ts'
import { readTrackingRef, trackingRefName, trackingRefs } from '../refs/tracking-ref.ts'
import { asideDirectories, type Damage, damageOf, RepositorySurvey } from './repository-survey.ts'

const gitLockWaitMs = 1000
/** So much of objects is put into one pack. */
const packedBytesMax = 32 * MEBIBYTE

export interface LiveJournal {
  readonly head: Oid
  /** Of the objects that it holds. */
  readonly oids: ReadonlySet<Oid>
}

export interface TrackedRemote {
  readonly remote: string
  /** Undefined if the file does not tell. */
  readonly oid: Oid | undefined
}

/** What the history of a head has replaced, and nothing of it leads to any more. */
export interface Erased {
  readonly commits: readonly Oid[]
  readonly dead: ReadonlySet<Oid>
}

export class RepairSite {
  readonly disk: Disk
  readonly directory: string
  readonly #files: GitFileLockContext
  readonly #locks: readonly [ProcessLock, ProcessLock]
  readonly #setup: readonly SetupFile[]
  /** Packs that this repair has written, perhaps in the place of a half or damaged one. */
  readonly #added: Set<string> = new Set()
  #aside: string | undefined

  /** Throws `not_a_store`, or that it is another kind of repository. */
  constructor(disk: Disk, directory: string, random: Random) {
    this.disk = disk
    this.directory = resolve(directory)
    const ownDirectory = `${this.directory}/${ownDirectoryName}`
    const identity = new LockIdentity(disk, ownDirectory, random)
    const lock = (name: string, purpose: string): ProcessLock => {
      return new ProcessLock({ disk, identity, path: `${ownDirectory}/${name}`, random, purpose })
    }
    const place = { directory: this.directory, ownDirectory }
    this.#files = { disk, ...place, identity, random, waitMs: gitLockWaitMs }
    this.#setup = this.#checkSetup()
    // In the order of a checkpoint.
    this.#locks = [lock('checkpoint.lock', 'checkpoint'), lock('lock', 'writer')]
  }

  /** Nobody else writes meanwhile. Throws `locked`. */
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

  /** A directory that is not there, and is removed after the repair. */
  get fetched(): string {
    return `${this.#files.ownDirectory}/${fetchedName}`
  }

  /** Where this repair has put what it replaced, in the repository; undefined for nothing. */
  get aside(): string | undefined {
    return this.#aside?.slice(this.directory.length + 1)
  }

  survey(): RepositorySurvey {
    return new RepositorySurvey(this.disk, this.directory)
  }

  /** The damage of files that are not objects, and of the journal; then that of objects. */
  damages(survey: RepositorySurvey): readonly Damage[] {
    const branch = this.branch()
    const refs = 'problem' in branch ? [{ file: branchName, problem: branch.problem }] : []
    const lost = this.lostTracked(survey).map(({ remote, oid }): Damage => {
      const problem =
        oid === undefined ? 'it does not hold the name of a commit' : 'its commit is lost'
      return { file: trackingRefName(remote), problem }
    })
    const setup = this.#setup.map(({ name, problem }): Damage => ({ file: name, problem }))
    const intents = this.damagedIntents().map((name): Damage => {
      return { file: `${ownDirectoryName}/${name}`, problem: 'what it erases cannot be read' }
    })
    const journal = this.#journalDamage(branch)
    return [...setup, ...refs, ...lost, ...journal, ...intents, ...damageOf(survey)]
  }

  /** Refs of remotes that name nothing which can be read. */
  lostTracked(survey: RepositorySurvey): readonly TrackedRemote[] {
    return this.tracked().filter(({ oid }) => oid === undefined || survey.read(oid) === undefined)
  }

  /** Where the branch is. */
  branch(): { readonly value: Oid } | { readonly problem: string } {
    try {
      const value = new Branch(this.disk, this.directory).read()
      return value === undefined ? { problem: 'it is missing' } : { value }
    } catch (error) {
      if (!hasCode(error, 'ref_corrupt')) throw error
      return { problem: 'it does not hold the name of a commit' }
    }
  }

  /** What the journal holds that follows `branch`; undefined if it does not, or is damaged. */
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

  /** Where remotes were: a name as `origin`, and the commit; none for a ref that is damaged. */
  tracked(): readonly TrackedRemote[] {
    return trackingRefs(this.disk, this.directory).flatMap((name): readonly TrackedRemote[] => {
      const remote = name.split('/')[2] ?? ''
      try {
        const oid = readTrackingRef(this.disk, this.directory, remote)
        return oid === undefined ? [] : [{ remote, oid }]
      } catch (error) {
        if (!hasCode(error, 'ref_corrupt')) throw error
        return [{ remote, oid: undefined }]
      }
    })
  }

  /** None where the config cannot be read. */
  remotes(): readonly Remote[] {
    return this.#setup.some(({ name }) => name === 'config') ? [] : readRemotes(this.#files)
  }

  /** Writes HEAD, config and the like anew where they are damaged. */
  async mendSetup(): Promise<void> {
    for (const file of this.#setup) {
      if (!isSetupDirectory(file)) await this.#keepCopy(file.name)
      await writeSetup(this.disk, this.directory, file)
    }
  }

  /** Puts objects into packs of their own, durably. Returns how many there were. */
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

  /** Gives packs the indexes that they lack. */
  async addIndexes(survey: RepositorySurvey): Promise<void> {
    for (const { name, state, index } of survey.packs) {
      if (state !== 'index' || index === undefined) continue
      await atomicWrite(this.disk, `${this.#packDirectory}/${name}.idx`, index)
    }
  }

  /** Moves the branch, and the journals aside unless they lead to the same commit. */
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

  /** Names of lists of what a redaction erases that cannot be read. */
  damagedIntents(): readonly string[] {
    const { ownDirectory } = this.#files
    const names = this.disk.list(ownDirectory).filter((name) => /^purge-[0-9a-f]{16}$/.test(name))
    return names.filter((name) => {
      const bytes = this.disk.readFile(`${ownDirectory}/${name}`) ?? new Uint8Array(0)
      return !isReadableIntent(name, bytes)
    })
  }

  /** Puts one list, of what has to be erased from beside `head`, in the place of the damaged. */
  async replaceIntents(head: Oid, { commits, dead }: Erased): Promise<void> {
    const { ownDirectory, random } = this.#files
    const damaged = this.damagedIntents()
    const [expected] = commits
    if (damaged.length > 0 && expected !== undefined) {
      const intent = { expected, next: head, packs: [], dead: OidList.of(dead) }
      const path = `${ownDirectory}/purge-${toHex(random(8))}`
      await atomicWrite(this.disk, path, encodeIntent(intent))
    }
    for (const name of damaged) await this.#moveAside(`${ownDirectoryName}/${name}`)
  }

  /** Removes a tracking ref whose commit is lost: the remote counts as one that was never seen. */
  async dropTracked(remote: string): Promise<void> {
    const name = trackingRefName(remote)
    await this.#keepCopy(name)
    await removeRef(this.#files, name)
  }

  /** Last of all: what is needed of them is elsewhere now. */
  async moveDamagedAside(survey: RepositorySurvey): Promise<void> {
    const damaged = survey.packs.filter(({ name, state }) => {
      return state === 'damaged' && !this.#added.has(name)
    })
    if (damaged.length > 0) removeMultiPackIndex(this.disk, this.#packDirectory)
    const files = this.disk.list(this.#packDirectory)
    for (const { name } of damaged) {
      const own = files.filter((file) => file.startsWith(`${name}.`))
      for (const file of own) await this.#moveAside(`objects/pack/${file}`)
    }
    for (const oid of survey.damagedLoose) {
      await this.#moveAside(`objects/${oid.slice(0, 2)}/${oid.slice(2)}`, oid)
    }
  }

  /** Neither before nor after, whatever becomes of the work. */
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
    const isOurs = disk.stat(this.#files.ownDirectory) !== undefined || isRemnant(disk, directory)
    const damaged = isOurs ? damagedSetup(disk, directory) : []
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
    // Asked under the writer lock.
    return new Journal({ disk, directory, random, isQuiet: () => true })
  }

  get #packDirectory(): string {
    return `${this.directory}/objects/pack`
  }

  async #moveAside(file: string, name = file.slice(file.lastIndexOf('/') + 1)): Promise<void> {
    const path = `${this.directory}/${file}`
    if (this.disk.stat(path) === undefined) return
    const place = await this.#makeAside()
    this.disk.rename(path, `${place}/${name}`)
    await this.disk.syncDirectory(place)
  }

  /** Of a ref that is about to be replaced. */
  async #keepCopy(file: string): Promise<void> {
    const bytes = this.disk.readFile(`${this.directory}/${file}`)
    if (bytes === undefined) return
    const place = await this.#makeAside()
    await atomicWrite(this.disk, `${place}/${file.replaceAll('/', '-')}`, bytes)
  }

  async #makeAside(): Promise<string> {
    if (this.#aside !== undefined) return this.#aside
    const { ownDirectory } = this.#files
    const last = asideDirectories(this.disk, ownDirectory).at(-1)?.split('/').at(-1) ?? '0'
    const place = `${ownDirectory}/${asideName}/${Number(last) + 1}`
    await makeDurableDirectory(this.disk, place)
    this.#aside = place
    return place
  }
}

/** Whether packs are what is left of a repository: whose they are, their commits tell. */
function isRemnant(disk: Disk, directory: string): boolean {
  if (disk.stat(`${directory}/HEAD`) !== undefined) return false
  return packNames(disk, `${directory}/objects/pack`).length > 0
}

function isReadableIntent(name: string, bytes: Uint8Array): boolean {
  try {
    decodeIntent(name, bytes)
    return true
  } catch (error) {
    if (!hasCode(error, 'journal_corrupt')) throw error
    return false
  }
}
