// Erases what committed transitions declare dead (FORMAT §10): from packs, loose objects, journal,
// refs, files derived by git, and caches; nothing, if the current history needs any of it. Every
// step can be repeated, and the intent is removed last, so a crash leaves the intent or nothing
// dead. Must hold the checkpoint lock throughout; packs are rewritten without the writer lock, the
// rest holds it for a moment.

import { asciiText } from '../../bytes.ts'
import { FileSweep } from '../../disk/file-sweep.ts'
import type { Journal } from '../journal/journal.ts'
import type { ObjectStore } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import { OidList } from '../objects/oid-list.ts'
import { brokenPacks } from '../pack/pack-removal.ts'
import type { Packer } from '../pack/packer.ts'
import type { Branch } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { listRefs } from '../refs/ref-list.ts'
import { checkHasNoLinks } from '../refs/repository.ts'
import { sweepAside } from './emptied-names.ts'
import { type PurgeIntent, reachedByHistory } from './purge-intent.ts'
import type { PurgeIntents } from './purge-intents.ts'
import { sweepBrokenPacks, sweepFiles, sweepRefs } from './purge-sweep.ts'

/** How long a running git may take between writing the two files of a pack. */
const renameMsMax = 100

export interface PurgeParts {
  readonly files: GitFileLockContext
  readonly objects: {
    readonly journal: Journal
    readonly branch: Branch
    reload(): void
    /** The body of a tag; undefined for any other object. */
    findTag(oid: Oid): Uint8Array | undefined
    /** Whether an object is stored in any place. */
    has(oid: Oid): boolean
  }
  readonly intents: PurgeIntents
  readonly packer: Packer
  readonly writer: Pick<ObjectStore, 'exclusive'>
}

export class Purge {
  readonly #parts: PurgeParts

  constructor(parts: PurgeParts) {
    this.#parts = parts
  }

  /**
   * Erases objects that are dead as of the branch: for a head that only the journal has, it is too
   * early.
   */
  async run(): Promise<void> {
    const { objects, intents, packer, writer } = this.#parts
    const { disk, directory } = this.#parts.files
    const due = await writer.exclusive(async () => intents.due(objects.branch.value))
    if (due.length === 0) return
    const lists = due.map((intent) => intent.dead.bytes)
    const listed = OidList.sorted(Buffer.concat(lists))
    const heads = await writer.exclusive(async () => this.#headsWithout(listed))
    const dead = this.#withTags(listed)
    const packDirectory = `${directory}/objects/pack`
    const broken = brokenPacks(disk, packDirectory)
    await packer.filter(dead, heads)
    if (broken.length > 0) await new Promise((resolve) => setTimeout(resolve, renameMsMax))
    await writer.exclusive(async () => {
      objects.reload()
      const still = new Set(brokenPacks(disk, packDirectory))
      const names = new Set(broken.filter((name) => still.has(name)))
      await this.#sweep(dead, names, due)
    })
  }

  async #sweep(
    dead: OidList,
    broken: ReadonlySet<string>,
    due: readonly PurgeIntent[],
  ): Promise<void> {
    const { files, objects, intents } = this.#parts
    const { disk, directory, ownDirectory } = files
    // Planted since the store was opened, a link would have files elsewhere removed.
    checkHasNoLinks(disk, directory)
    const sweep = new FileSweep(disk)
    sweepBrokenPacks(disk, `${directory}/objects/pack`, { sweep, names: broken })
    sweepFiles(disk, directory, { sweep, dead })
    const isErased = (oid: Oid): boolean => dead.hasOid(oid)
    await sweepRefs(files, { sweep, isErased, isMissing: (oid) => !objects.has(oid) })
    await objects.journal.scrub()
    sweep.empty(`${ownDirectory}/cache`)
    sweepAside(ownDirectory, sweep)
    await sweep.sync()
    await intents.remove(due)
  }

  /**
   * The objects from which the current history is reachable: the branch, and what the journal
   * names, which may be new. Throws `journal_corrupt` if one of them is listed.
   */
  #headsWithout(dead: OidList): readonly Oid[] {
    const { branch, journal } = this.#parts.objects
    const heads = [...(branch.value === undefined ? [] : [branch.value]), ...journal.named()]
    if (heads.some((oid) => dead.hasOid(oid))) throw reachedByHistory()
    return heads
  }

  /** Adds the tags, and tags of tags, that lead from a ref to a dead object. */
  #withTags(dead: OidList): OidList {
    const { files, objects } = this.#parts
    const tags = listRefs(files.disk, files.directory).flatMap(({ oid }) => {
      const chain: Oid[] = []
      let at = oid
      while (at !== undefined && !dead.hasOid(at)) {
        const tag = objects.findTag(at)
        if (tag === undefined) return []
        chain.push(at)
        at = /^object ([0-9a-f]{40})\n/.exec(asciiText(tag.subarray(0, 48)))?.[1]
      }
      return at === undefined ? [] : chain
    })
    if (tags.length === 0) return dead
    return OidList.sorted(Buffer.concat([dead.bytes, Buffer.from(tags.join(''), 'hex')]))
  }
}
