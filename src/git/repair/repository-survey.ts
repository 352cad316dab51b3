// Everything readable in a damaged repository, and what is damaged: packs, loose objects, the
// journal, refs, and files that an earlier repair moved aside. Every object that it returns matches
// its oid. Must not write; needs no lock in a repository that others use.

import { fromHex, toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { deltaCacheBytes } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { journalNames, type SalvagedJournal, salvageJournal } from '../journal/journal-survey.ts'
import { looseObjectIds, looseObjectPath, readAnyLooseObject } from '../objects/loose-object.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import { DeltaBaseCache } from '../pack/delta-base-cache.ts'
import { type InspectedPack, inspectPack, packNames } from '../pack/pack-inspection.ts'
import { salvagePack } from '../pack/pack-salvage.ts'
import type { Pack } from '../pack/pack.ts'
import { decodeIntent, intentPattern } from '../purge/purge-intent.ts'
import { asideName } from '../purge/purge-intents.ts'
import { branchName } from '../refs/branch.ts'
import { listRefs } from '../refs/ref-list.ts'
import { ownDirectoryName } from '../refs/repository.ts'

/** A damaged file. */
export interface Damage {
  /** Its path in the repository. */
  readonly file: string
  /** Its fault, as a clause. */
  readonly problem: string
}

export class RepositorySurvey {
  readonly directory: string
  readonly packs: readonly InspectedPack[]
  /** The oids of loose objects that cannot be read. */
  readonly damagedLoose: readonly Oid[]
  /** Commits that journals and purge intents name as heads, newest last; each may be wrong. */
  readonly namedHeads: readonly Oid[]
  /** The commits of refs/heads/main, loose and packed. */
  readonly branches: readonly Oid[]
  readonly #disk: Disk
  readonly #cache = new DeltaBaseCache(deltaCacheBytes)
  readonly #journals: ReadonlyMap<Oid, GitObject>
  readonly #loose: ReadonlySet<Oid>
  readonly #aside: readonly Pack[]
  #commits: readonly Oid[] | undefined;

  /** Reads the whole repository, in steps. Throws only storage codes. */
  static *of(disk: Disk, directory: string): Generator<undefined, RepositorySurvey> {
    const packs: InspectedPack[] = []
    const aside: Pack[] = []
    try {
      const files = yield* readFiles(disk, directory, { packs, aside })
      return new RepositorySurvey(disk, directory, files)
    } catch (error) {
      for (const pack of [...packs.map((one) => one.pack), ...aside]) pack?.close()
      throw error
    }
  }

  private constructor(disk: Disk, directory: string, files: SurveyedFiles) {
    this.#disk = disk
    this.directory = directory
    const refs = listRefs(disk, directory).filter(({ name }) => name === branchName)
    this.branches = refs.flatMap(({ oid }) => oid ?? [])
    this.packs = files.packs
    this.damagedLoose = files.damagedLoose
    this.#loose = files.loose
    this.#aside = files.aside
    this.#journals = new Map(files.journals.flatMap(({ objects }) => [...objects]))
    const intended = intendedHeads(disk, `${directory}/${ownDirectoryName}`)
    this.namedHeads = [...intended, ...files.journals.flatMap(({ heads }) => heads)]
  }

  /** Undefined for an object that cannot be read. Throws only storage codes. */
  read(oid: Oid): GitObject | undefined {
    const kept = this.readStaying(oid)
    if (kept !== undefined) return kept
    const journal = this.#journals.get(oid)
    if (journal !== undefined) return { type: journal.type, body: journal.body }
    const damaged = this.packs.flatMap(({ state, pack }) => {
      return state === 'damaged' && pack !== undefined ? [pack] : []
    })
    return this.#findPacked(oid, [...damaged, ...this.#aside])
  }

  /** Like `read`, but only from files that a repair leaves in place: packs and loose objects. */
  readStaying(oid: Oid): GitObject | undefined {
    const kept = this.packs.flatMap(({ state, pack }) => {
      return state !== 'damaged' && pack !== undefined ? [pack] : []
    })
    return this.#findPacked(oid, kept) ?? (this.#loose.has(oid) ? this.#findLoose(oid) : undefined)
  }

  /** The readable commits. Throws `cancelled`. */
  async commitIds(signal: AbortSignal | undefined): Promise<readonly Oid[]> {
    this.#commits ??= await inSlices(this.#findCommits(), signal)
    return this.#commits
  }

  /** The commits of the journal. */
  journalCommits(): readonly Oid[] {
    return [...this.#journals].flatMap(([oid, { type }]) => (type === 'commit' ? [oid] : []))
  }

  close(): void {
    for (const { pack } of this.packs) pack?.close()
    for (const pack of this.#aside) pack.close()
  }

  *#findCommits(): Generator<undefined, readonly Oid[]> {
    const commits: Oid[] = []
    const packs = [...this.packs.flatMap(({ pack }) => pack ?? []), ...this.#aside]
    for (const pack of packs) {
      for (let position = 0; position < pack.index.count; position += 1) {
        const oid = toHex(pack.index.oidAt(position))
        if (this.#findPacked(oid, [pack])?.type === 'commit') commits.push(oid)
        yield
      }
    }
    for (const oid of this.#loose) {
      if (this.#findLoose(oid)?.type === 'commit') commits.push(oid)
      yield
    }
    return [...this.journalCommits(), ...commits]
  }

  #findPacked(oid: Oid, packs: readonly Pack[]): GitObject | undefined {
    for (const pack of packs) {
      const position = pack.index.find(fromHex(oid))
      if (position === undefined) continue
      const object = orUndefined(() => pack.read(pack.index.offsetAt(position), this.#cache))
      if (object !== undefined && gitHash(object.type, object.body) === oid) return object
    }
    return undefined
  }

  #findLoose(oid: Oid): GitObject | undefined {
    const object = findLoose(this.#disk, this.directory, oid)
    if (object === undefined) return undefined
    const { type, body } = object
    return type === 'tag' ? undefined : { type, body }
  }
}

interface SurveyedFiles {
  readonly packs: readonly InspectedPack[]
  /** The packs that an earlier repair moved aside. */
  readonly aside: readonly Pack[]
  readonly loose: ReadonlySet<Oid>
  readonly damagedLoose: readonly Oid[]
  readonly journals: readonly SalvagedJournal[]
}

/** Adds what it opens to `packs` and `aside`. */
function* readFiles(
  disk: Disk,
  directory: string,
  { packs, aside }: { readonly packs: InspectedPack[]; readonly aside: Pack[] },
): Generator<undefined, SurveyedFiles> {
  const packDirectory = `${directory}/objects/pack`
  for (const name of packNames(disk, packDirectory)) {
    packs.push(yield* inspectPack(disk, packDirectory, name))
  }
  const loose = new Set(looseObjectIds(disk, `${directory}/objects`))
  const damagedLoose: Oid[] = []
  for (const oid of loose) {
    if (findLoose(disk, directory, oid) === undefined) damagedLoose.push(oid)
    yield
  }
  const ownDirectory = `${directory}/${ownDirectoryName}`
  const moved = asideDirectories(disk, ownDirectory)
  for (const one of moved) yield* salvageAside(disk, one, aside)
  const journals: SalvagedJournal[] = []
  for (const one of [...moved, ownDirectory]) {
    for (const name of journalNames) journals.push(yield* salvageJournal(disk, `${one}/${name}`))
  }
  return { packs, aside, loose, damagedLoose, journals }
}

/** The damage of the files that hold objects. */
export function damageOf(survey: RepositorySurvey): readonly Damage[] {
  const packed = survey.packs.flatMap(({ name, state, pack }): Damage[] => {
    const path = `objects/pack/${name}`
    if (state === 'sound') return []
    if (state === 'index') return [{ file: `${path}.idx`, problem: 'it is missing or damaged' }]
    const problem = pack === undefined ? 'it is missing' : 'it is damaged'
    return [{ file: `${path}.pack`, problem }]
  })
  const loose = survey.damagedLoose.map((oid): Damage => {
    return { file: looseObjectPath('objects', oid), problem: 'it is damaged' }
  })
  return [...packed, ...loose]
}

/** The directories of earlier repairs, oldest first. */
export function asideDirectories(disk: Disk, ownDirectory: string): readonly string[] {
  const parent = `${ownDirectory}/${asideName}`
  const numbers = disk.list(parent).filter((name) => /^[1-9][0-9]{0,8}$/.test(name))
  return numbers.toSorted((a, b) => Number(a) - Number(b)).map((name) => `${parent}/${name}`)
}

function* salvageAside(disk: Disk, directory: string, aside: Pack[]): Generator<undefined, void> {
  for (const name of disk.list(directory).filter((file) => file.endsWith('.pack'))) {
    const pack = yield* salvagePack(disk, directory, name.slice(0, -'.pack'.length))
    if (pack !== undefined) aside.push(pack)
  }
}

function findLoose(disk: Disk, directory: string, oid: Oid): ReturnType<typeof readAnyLooseObject> {
  return orUndefined(() => readAnyLooseObject(disk, `${directory}/objects`, oid))
}

function intendedHeads(disk: Disk, ownDirectory: string): readonly Oid[] {
  return disk.list(ownDirectory).flatMap((name) => {
    const bytes = intentPattern.test(name) ? disk.readFile(`${ownDirectory}/${name}`) : undefined
    if (bytes === undefined) return []
    return orUndefined(() => decodeIntent(name, bytes).next) ?? []
  })
}

function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof StoreError && !error.code.startsWith('storage_')) return undefined
    throw error
  }
}
