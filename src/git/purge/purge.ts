// Erases what committed transitions declare dead (FORMAT §10): from packs, loose objects, journal,
// refs, files derived by git, and caches; nothing, if the current history needs any of it. Every
// step can be repeated, and the intent is removed last, so a crash leaves the intent or nothing
// dead. Must hold the checkpoint lock throughout; packs are rewritten without the writer lock, the
// sweep of all other files holds it for a moment. A remaining reference to an erased object would
// make git report damage; the value of refs/heads/main must never change.

import { basename } from 'node:path'
import { asciiText } from '../../bytes.ts'
import { atomicWrite, type Disk, targetOf } from '../../disk/disk.ts'
import { filesBelow, FileSweep } from '../../disk/file-sweep.ts'
import type { Journal } from '../journal/journal.ts'
import type { ObjectStore } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import { OidList } from '../objects/oid-list.ts'
import { brokenPacks, removeMultiPackIndex } from '../pack/pack-removal.ts'
import type { Packer } from '../pack/packer.ts'
import { type Branch, branchName } from '../refs/branch.ts'
import { type GitFileLockContext, textOf } from '../refs/git-file-lock.ts'
import { listRefs, lockSuffix, looseRefs, type Ref, sweepPackedRefs } from '../refs/ref-list.ts'
import { checkHasNoLinks } from '../refs/repository.ts'
import { moveShallow, readShallow } from '../refs/shallow.ts'
import { evidenceDirectory } from '../refs/tracking-ref.ts'
import { type PurgeIntent, reachedByHistory } from './purge-intent.ts'
import { type PurgeIntents, sweepAside } from './purge-intents.ts'

/** How long a running git may take between writing the two files of a pack. */
const renameMsMax = 100

interface PurgeParts {
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
    const erasedEnds = readShallow(disk, directory).filter(isErased)
    await moveShallow(files, { shallow: [], unshallow: erasedEnds })
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

/** Derived from objects and refs; git recreates them on request. */
const derivedFiles = ['objects/info/commit-graph', 'objects/info/packs', 'info/refs']
/**
 * A running git that loses its temporary files fails and changes nothing. Otherwise it could store
 * erased objects.
 */
const temporaryPack = /^(tmp_|\.tmp-)/
const temporaryObject = /^tmp_obj_/
const temporaryDirectory = /^(tmp_objdir-|incoming-)/

function sweepFiles(
  disk: Disk,
  directory: string,
  { sweep, dead }: { readonly sweep: FileSweep; readonly dead: OidList },
): void {
  const objects = `${directory}/objects`
  for (const name of derivedFiles) sweep.remove(`${directory}/${name}`)
  sweep.empty(`${objects}/info/commit-graphs`)
  removeMultiPackIndex(disk, `${objects}/pack`)
  unlinkWorkingTrees(directory, sweep)
  for (const { name, isDirectory } of disk.entries(`${objects}/pack`)) {
    if (!isDirectory && temporaryPack.test(name)) sweep.removeKnown(`${objects}/pack/${name}`)
  }
  sweep.touch(`${objects}/pack`)
  for (const { name, isDirectory } of disk.entries(objects)) {
    if (!isDirectory) continue
    if (temporaryDirectory.test(name)) sweep.empty(`${objects}/${name}`)
    else if (/^[0-9a-f]{2}$/.test(name)) sweepLoose(disk, objects, { name, sweep, dead })
  }
}

/**
 * The index, HEAD and reflog of a working tree protect objects from `git gc`, and make it fail
 * where those are missing. The checked-out files are outdated ciphertext, useless without the
 * objects, so the tree is unregistered, as by `git worktree remove`. Its files are elsewhere,
 * and are kept.
 */
function unlinkWorkingTrees(directory: string, sweep: FileSweep): void {
  sweep.empty(`${directory}/worktrees`)
  sweep.remove(`${directory}/index`)
}

function sweepLoose(
  disk: Disk,
  objects: string,
  { name, sweep, dead }: { name: string; sweep: FileSweep; dead: OidList },
): void {
  for (const file of disk.list(`${objects}/${name}`)) {
    const isDead = /^[0-9a-f]{38}$/.test(file) && dead.hasOid(`${name}${file}`)
    if (isDead || temporaryObject.test(file)) sweep.removeKnown(`${objects}/${name}/${file}`)
  }
}

/** Removes the files of packs that lack a part, and lacked it a moment ago. */
function sweepBrokenPacks(
  disk: Disk,
  directory: string,
  { sweep, names }: { readonly sweep: FileSweep; readonly names: ReadonlySet<string> },
): void {
  for (const file of disk.list(directory)) {
    if (names.has(file.replace(/\.[a-z]+$/, ''))) sweep.removeKnown(`${directory}/${file}`)
  }
}

type IsErased = (oid: Oid) => boolean

interface RefSweep {
  readonly sweep: FileSweep
  readonly isErased: IsErased
  /** Whether an object is missing, such as a tag that an interrupted purge has erased. */
  readonly isMissing: IsErased
}

/** A head that was left out may reach erased objects anywhere in its history. */
function isEvidence(name: string): boolean {
  return name.startsWith(`${evidenceDirectory}/`)
}

/** Removes refs, reflog entries and the like that name erased objects. Under the writer lock. */
async function sweepRefs(
  files: GitFileLockContext,
  { sweep, isErased, isMissing }: RefSweep,
): Promise<void> {
  const { disk, directory } = files
  const isErasedRef = ({ name, oid }: Ref): boolean => {
    // The name of a replacement ref is the object that it replaces.
    const replaced = /^refs\/replace\/([0-9a-f]{40})$/.exec(name)?.[1]
    if (isEvidence(name) || (replaced !== undefined && isErased(replaced))) return true
    return oid !== undefined && (isErased(oid) || isMissing(oid))
  }
  const removed = sweepLooseRefs(disk, directory, { sweep, isErasedRef })
  await sweepPackedRefs(files, (ref) => removed.has(ref.name) || isErasedRef(ref))
  sweepHeads(disk, directory, { sweep, isErased })
  for (const path of filesBelow(disk, `${directory}/logs`)) {
    const isLeft = path.endsWith(lockSuffix) || targetOf(basename(path)) !== undefined
    if (isLeft) sweep.removeKnown(path)
    else await sweepReflog(disk, path, { sweep, isErased })
  }
}

interface Sweeping {
  readonly sweep: FileSweep
  readonly isErased: IsErased
}

/** Returns the names of the refs that it removed. */
function sweepLooseRefs(
  disk: Disk,
  directory: string,
  { sweep, isErasedRef }: { sweep: FileSweep; isErasedRef: (ref: Ref) => boolean },
): ReadonlySet<string> {
  const refs = looseRefs(disk, directory).filter(({ name }) => name !== branchName)
  const removed = new Set(refs.filter(isErasedRef).map(({ name }) => name))
  for (const { name, target } of refs) if (target && removed.has(target)) removed.add(name)
  for (const name of removed) sweep.removeKnown(`${directory}/${name}`)
  return removed
}

/** FETCH_HEAD, ORIG_HEAD and the like. HEAD itself names a branch. */
function sweepHeads(disk: Disk, directory: string, { sweep, isErased }: Sweeping): void {
  for (const name of disk.list(directory)) {
    if (!/^[A-Z_]+_HEAD$/.test(name)) continue
    const oids = textOf(disk, `${directory}/${name}`).match(/\b[0-9a-f]{40}\b/g) ?? []
    if (oids.some(isErased)) sweep.removeKnown(`${directory}/${name}`)
  }
}

/** A line of a reflog starts with two oids, before and after. */
async function sweepReflog(disk: Disk, path: string, { sweep, isErased }: Sweeping): Promise<void> {
  const before = textOf(disk, path)
  const kept = before.split('\n').filter((line) => {
    const oids = /^([0-9a-f]{40}) ([0-9a-f]{40})\b/.exec(line)?.slice(1) ?? []
    return !oids.some(isErased)
  })
  const after = kept.join('\n')
  if (after === before) return
  if (after.trim() === '') return sweep.removeKnown(path)
  await atomicWrite(disk, path, Buffer.from(after, 'latin1'))
}
