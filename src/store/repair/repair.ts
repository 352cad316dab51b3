// Repairs a store from its readable objects and, if one is named, a copy: a remote, a backup or
// another clone. Reads everything, chooses a head and verifies it from genesis, then adds objects,
// sets the branch and quarantines damaged files, and reports losses. Must not touch a sound
// store.

import type { Progress } from '../../async.ts'
import { systemRandom } from '../../crypto/random.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { GitObject, Oid } from '../../git/objects/object.ts'
import { RepairSite } from '../../git/repair/repair-site.ts'
import type { Damage, RepositorySurvey } from '../../git/repair/repository-survey.ts'
import { inSlices } from '../../time-slice.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { readForeignStoreId } from '../clone/clone-remote.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import { journalSecretOf } from '../local/sealed-cache.ts'
import type { StoreEnvironment, StorePlaces } from '../session/open-options.ts'
import { findCommit, type ObjectClosure, closureOf } from '../snapshot/object-closure.ts'
import { isVerdict } from '../verify/verdict.ts'
import { type ChosenHead, HeadSearch, nothingReadable } from './heads.ts'
import { findKnownStore, LocalState } from './local-state.ts'
import { describeChange, describeMissing, findErased, type OpenSource, redactedIn } from './lost.ts'
import type { AnchorFate, LostChange, RepairReport } from './report.ts'
import { type CopyOptions, openCopy, RepairSource } from './sources.ts'

export interface RepairOptions extends StorePlaces, StoreEnvironment, CopyOptions {
  /** Reports what would be done, and writes nothing. */
  readonly dryRun?: boolean | undefined
  readonly progress?: Progress | undefined
}

/**
 * Repairs the store. Throws `locked`, `not_a_store`, a storage or remote code, `wrong_key`,
 * `object_missing` if nothing is readable, or `redaction_undone` if only a state before a known
 * redaction is readable; nothing has changed then.
 */
export async function repairStore(options: RepairOptions): Promise<RepairReport> {
  const { disk = systemDisk, random = systemRandom } = options
  const { identity, directory } = options
  const site = new RepairSite(disk, directory, random, journalSecretOf(identity))
  return site.hold(async () => {
    const here = await site.survey(options.signal)
    const copy = await openCopy(site, options).catch((error: unknown) => {
      here.close()
      throw error
    })
    const objects = new RepairSource(here, copy)
    try {
      const storeId = (await findStoreId(objects, options.signal)) ?? findKnownStore(options)
      if (storeId === undefined) throw nothingReadable()
      const local = await LocalState.read(options, storeId)
      return await new Repair({ site, objects, storeId, local }, options).run()
    } finally {
      objects.close()
    }
  })
}

/** The findings of a repair, and its writes. */
interface RepairPlan {
  readonly chosen: ChosenHead
  readonly reach: ObjectClosure
  readonly anchor: AnchorFate
  /** Whether branch and journal already reach the chosen head. */
  readonly isHead: boolean
  /** The objects that the head reaches and that no intact file holds. */
  readonly toSave: readonly Oid[]
}

/** The part of the report about the writes. */
type Done = Pick<RepairReport, 'saved' | 'toErase' | 'aside' | 'forgotten'>

interface RepairParts {
  readonly site: RepairSite
  readonly objects: RepairSource
  readonly storeId: string
  readonly local: LocalState
}

class Repair {
  readonly #site: RepairSite
  readonly #objects: RepairSource
  readonly #options: RepairOptions
  readonly #storeId: string
  readonly #local: LocalState
  readonly #search: HeadSearch
  readonly #branch: Oid | undefined

  constructor({ site, objects, storeId, local }: RepairParts, options: RepairOptions) {
    this.#site = site
    this.#objects = objects
    this.#options = options
    this.#storeId = storeId
    this.#local = local
    const branch = site.branch()
    this.#branch = 'value' in branch ? branch.value : undefined
    this.#search = new HeadSearch(
      { objects, storeId, identity: options.identity },
      (epochs) => this.#redactions(epochs),
      { signal: options.signal, progress: options.progress },
    )
  }

  async run(): Promise<RepairReport> {
    const { here, copy } = this.#objects
    const own = [...headsOf(here), ...this.#local.heads]
    const others = [...this.#site.tracked().flatMap(({ oid }) => oid ?? []), ...headsOf(copy)]
    const all = (): Promise<readonly Oid[]> => here.commitIds(this.#options.signal)
    const chosen = await this.#search.choose({ branch: this.#branch, own, others, all })
    const reach = await closureOf(this.#objects, chosen.oid, this.#options.signal)
    const source = { objects: this.#objects, storeId: this.#storeId }
    const anchor = await this.#local.decideAnchor(source, chosen.oid, chosen.sound)
    const journal = this.#branch === undefined ? undefined : this.#site.journalOn(this.#branch)
    const isHead = journal?.head === chosen.oid
    const stays = (oid: Oid): boolean => {
      return (isHead && journal.oids.has(oid)) || here.readStaying(oid) !== undefined
    }
    const toSave = [...reach.oids].filter((oid) => !stays(oid))
    const plan = { chosen, reach, anchor, isHead, toSave }
    const found = await this.#describe(plan, own)
    const damages = this.#damages(plan)
    const sound = found.whole && damages.length === 0 && isHead
    const writes = !sound && this.#options.dryRun !== true
    const done = writes ? await this.#write(plan) : this.#nothingDone(plan)
    return { ...found, ...done, damages, sound }
  }

  #damages({ toSave, anchor, reach }: RepairPlan): readonly Damage[] {
    const { here } = this.#objects
    const found = this.#site.damages(here, reach.oids)
    const lacking = toSave.filter((oid) => here.read(oid) === undefined).length
    const objects = lacking === 0 ? [] : [{ file: 'objects', problem: `${lacking} are missing` }]
    const isDamaged = anchor === 'renewed' || anchor === 'damaged'
    const anchors = isDamaged ? [{ file: 'the anchor', problem: 'it does not open' }] : []
    return [...found, ...objects, ...anchors]
  }

  async #describe(
    { chosen, reach, anchor }: RepairPlan,
    own: readonly Oid[],
  ): Promise<Omit<RepairReport, 'damages' | 'sound' | keyof Done>> {
    const epochs = chosen.sound?.epochs ?? (await this.#tryKeys(chosen.oid))
    const source = { objects: this.#objects, storeId: this.#storeId, epochs }
    const detached = this.#detached(source, chosen, own)
    const missing = reach.missing.map((one) => describeMissing(source, one))
    const { verdict, sound, oid } = chosen
    const whole = sound !== undefined && missing.length + detached.length === 0
    return {
      storeId: formatId('store', this.#storeId),
      whole: whole && anchor !== 'behind',
      head: { commit: oid, height: findCommit(this.#objects, oid)?.height ?? 0 },
      detached,
      missing,
      verdict,
      anchor,
      unmerged: await this.#unmerged(oid),
    }
  }

  /** Commits that are known to have been the head, and are not in the history. */
  #detached(source: OpenSource, { oid }: ChosenHead, own: readonly Oid[]): readonly LostChange[] {
    const sealed = new Set(this.#local.heads)
    const lost = [...new Set(own)].flatMap((one) => {
      const height = findCommit(this.#objects, one)?.height
      // An unreadable id is trusted only from a sealed file: elsewhere it may be damage.
      if (height === undefined) return sealed.has(one) ? [{ one, height: Infinity }] : []
      return this.#search.contains(oid, one) ? [] : [{ one, height }]
    })
    const sorted = lost.toSorted((a, b) => b.height - a.height)
    return sorted.map(({ one }) => describeChange(source, one))
  }

  async #unmerged(head: Oid): Promise<Oid | undefined> {
    for (const oid of this.#objects.copy?.branches ?? []) {
      const known = findCommit(this.#objects, oid) === undefined || this.#search.contains(head, oid)
      if (known || (await this.#search.verify(oid)) instanceof StoreError) continue
      return oid
    }
    return undefined
  }

  #nothingDone({ toSave }: RepairPlan): Done {
    const own = toSave.filter((oid) => this.#objects.here.read(oid) !== undefined).length
    const saved = { here: own, elsewhere: toSave.length - own }
    return { saved, toErase: 0, aside: undefined, forgotten: [] }
  }

  /** Adds objects first and moves files last, so that a crash loses nothing readable. */
  async #write(plan: RepairPlan): Promise<Done> {
    const { chosen, anchor, isHead } = plan
    const { here } = this.#objects
    const saved = { here: 0, elsewhere: 0 }
    await this.#site.addObjects(this.#toSave(plan, saved))
    await this.#site.addIndexes(here)
    await this.#site.mendSetup()
    if (!isHead) await this.#site.moveBranch(chosen.oid)
    const toErase = await this.#replaceIntents(plan)
    const forgotten = await this.#forgetLost(plan)
    await this.#site.moveDamagedAside(here)
    if (anchor === 'renewed' && chosen.sound !== undefined) await this.#local.renew(chosen.sound)
    return { saved, toErase, aside: this.#site.aside, forgotten }
  }

  *#toSave(
    { toSave }: RepairPlan,
    saved: { here: number; elsewhere: number },
  ): Generator<{ readonly oid: Oid } & GitObject> {
    const { here } = this.#objects
    for (const oid of toSave) {
      const own = here.read(oid)
      const object = own ?? this.#objects.read(oid)
      if (object === undefined) continue
      if (own === undefined) saved.elsewhere += 1
      else saved.here += 1
      yield { oid, ...object }
    }
  }

  /**
   * Replaces lists of objects to erase that are not obeyed, if the history verifies, whose keys
   * that needs. Returns the number of listed objects.
   */
  async #replaceIntents({ chosen, reach }: RepairPlan): Promise<number> {
    if (chosen.sound === undefined || this.#site.badIntents(reach.oids).length === 0) return 0
    const { epochs } = chosen.sound
    const source = { objects: this.#objects.here, storeId: this.#storeId, epochs }
    const commits = await this.#objects.here.commitIds(this.#options.signal)
    const erased = await findErased(source, commits, reach.oids, this.#options.signal)
    await this.#site.replaceIntents(chosen.oid, erased, reach.oids)
    return erased.dead.size
  }

  /** Deletes tracking refs to lost commits, with which git would refuse the repository. */
  async #forgetLost({ reach }: RepairPlan): Promise<readonly string[]> {
    const lost = this.#site.tracked().filter(({ oid }) => {
      if (oid === undefined) return true
      return !reach.oids.has(oid) && this.#objects.here.readStaying(oid) === undefined
    })
    for (const { remote } of lost) await this.#site.dropTracked(remote)
    return lost.map(({ remote }) => remote)
  }

  async #redactions(epochs: Epochs): Promise<ReadonlySet<string>> {
    const source = { objects: this.#objects, storeId: this.#storeId, epochs }
    const { signal } = this.#options
    const commits = await this.#objects.here.commitIds(signal)
    const readable = await inSlices(redactedIn(source, commits), signal)
    return new Set([...this.#local.redacted, ...readable])
  }

  /** The epochs of a head that does not verify, to describe the losses; empty without a key. */
  async #tryKeys(head: Oid): Promise<Epochs> {
    try {
      const { identity, signal } = this.#options
      const unlock = { type: 'identity', identity } as const
      return (await openHeadKeyring(this.#objects, this.#storeId, unlock, head, signal)).epochs
    } catch (error) {
      if (isVerdict(error)) return new Map()
      throw error
    }
  }
}

/** Commits that files of a repository name as its head. */
function headsOf(survey: RepositorySurvey | undefined): readonly Oid[] {
  if (survey === undefined) return []
  return [...survey.branches, ...survey.namedHeads, ...survey.journalCommits()]
}

/** The id in the first readable commit. Throws `store_id_mismatch` for a copy of another store. */
async function findStoreId(
  { here, copy }: RepairSource,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const own = await storeIdIn(here, signal)
  const others = copy && (await storeIdIn(copy, signal))
  if (own !== undefined && others !== undefined && own !== others) {
    throw new StoreError('store_id_mismatch', 'The copy to repair from holds another store')
  }
  return own ?? others
}

async function storeIdIn(
  survey: RepositorySurvey,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const named = await inSlices(firstStoreId(survey, headsOf(survey)), signal)
  return named ?? (await inSlices(firstStoreId(survey, await survey.commitIds(signal)), signal))
}

function* firstStoreId(
  survey: RepositorySurvey,
  commits: readonly Oid[],
): Generator<undefined, string | undefined> {
  for (const oid of commits) {
    try {
      return readForeignStoreId(survey, oid)
    } catch (error) {
      if (!isVerdict(error)) throw error
    }
    yield
  }
  return undefined
}
