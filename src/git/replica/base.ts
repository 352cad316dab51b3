// The base of a store in an engine (FORMAT §14.4): the packs, the refs and the remotes of a replica
// at one entry of the log, as parts. The first part lists the files, and the others are their bytes
// in this order, each part of one file alone. Must not change a repository that is in use.

import { toHex, utf8, utf8Text } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { type DiskObjectStore, openDiskObjectStore } from '../disk-store/disk-object-store.ts'
import type { DiskObjectStoreOptions } from '../disk-store/store-parts.ts'
import type { Remote } from '../exchange.ts'
import type { Oid } from '../objects/object.ts'
import { branchName } from '../refs/branch.ts'
import { ownDirectoryName } from '../refs/repository.ts'
import { trackedNames } from '../refs/tracking-ref.ts'
import { damagedLog, laterRelease } from './log-entry.ts'
import { leap, type LogBase, type LogPosition, type SharedLog } from './shared-log.ts'

/** The size of a part; the last one of a file is smaller. */
export const partBytes: number = 512 * 1024
/** Parts that are sent at a time. */
const PARALLEL = 4
const VERSION = 1

const packDirectory = 'objects/pack'
/** The names are those of this engine's packs: nothing else is written to a replica. */
const filePattern = /^pack-[0-9a-f]{40}\.(?:pack|idx)$/

interface FileSize {
  readonly name: string
  readonly bytes: number
}

interface Manifest {
  readonly version: typeof VERSION
  readonly number: number
  readonly partBytes: number
  readonly head: Oid
  readonly tracked: readonly (readonly [name: string, commit: Oid])[]
  readonly remotes: readonly Remote[]
  readonly files: readonly FileSize[]
}

/** The state of a replica, which hard links keep while it is sent: merges remove packs. */
export interface HeldBase {
  readonly manifest: Manifest
  readonly directory: string
}

/** The rest of a base, which the caller adds once the repository is open. */
export type FetchedBase = Pick<Manifest, 'tracked' | 'remotes'> & { readonly bytes: number }

/**
 * Holds the packed state of a repository; undefined before its first commit. The journal must be
 * empty. Call it where nothing is written, and remove `directory` afterwards.
 */
export function holdBase(
  disk: Disk,
  store: DiskObjectStore,
  {
    repository,
    directory,
    number,
  }: Record<'repository' | 'directory', string> & Pick<LogBase, 'number'>,
): HeldBase | undefined {
  const { head, exchange } = store
  if (head === undefined) return undefined
  disk.removeTree(directory)
  disk.makeDirectory(directory)
  const files: FileSize[] = []
  for (const name of disk.list(`${repository}/${packDirectory}`)) {
    if (!filePattern.test(name)) continue
    disk.link(`${repository}/${packDirectory}/${name}`, `${directory}/${name}`)
    files.push({ name, bytes: disk.stat(`${directory}/${name}`)?.size ?? 0 })
  }
  const tracked = trackedNames(disk, repository).flatMap((name) => {
    const commit = exchange.tracked(name)
    return commit === undefined ? [] : [[name, commit] as const]
  })
  const remotes = exchange.remotes()
  const manifest = { version: VERSION, number, partBytes, head, tracked, remotes, files } as const
  return { manifest, directory }
}

/**
 * Makes a repository the base of a log that is new or at `from`, with a leap: no server takes the
 * new entries for those that follow its own. Packs the repository anew; it can be removed
 * afterwards. Throws `not_found` for one without a commit, `locked` if the log is elsewhere by now,
 * and as opening it does.
 */
export async function beginLog(
  log: SharedLog,
  disk: Disk,
  options: DiskObjectStoreOptions,
  from: LogPosition = { number: 0, base: 0 },
): Promise<void> {
  const { directory: repository, random = systemRandom } = options
  // Locks are kept in it; a copy without journals lacks it.
  disk.makeDirectory(`${repository}/${ownDirectoryName}`)
  const store = await openDiskObjectStore({ ...options, disk })
  const id = toHex(random(16))
  const directory = `${repository}/${id}`
  const number = from.number + leap
  try {
    // A base has packs alone.
    await store.compact()
    const held = holdBase(disk, store, { repository, directory, number })
    if (held === undefined) throw new StoreError('not_found', 'The store has no commit')
    await sendBase(disk, log, id, held)
    const change = { expected: from.base, base: { number, id }, removeTo: number, erases: true }
    const hasRemotes = held.manifest.remotes.length > 0
    if (await log.setBase({ ...change, leapsFrom: from.number, hasRemotes })) return
    throw new StoreError('locked', 'Another server writes to the store: try again')
  } finally {
    disk.removeTree(directory)
    await store.close()
  }
}

/** Sends a base; returns its bytes. */
export async function sendBase(
  disk: Disk,
  log: SharedLog,
  id: string,
  { manifest, directory }: HeldBase,
): Promise<number> {
  const sender = new PartSender(log, id)
  await sender.add(utf8(JSON.stringify(manifest)))
  for (const { name } of manifest.files) await sendFile(disk, sender, `${directory}/${name}`)
  await sender.finish()
  return manifest.files.reduce((sum, { bytes }) => sum + bytes, 0)
}

export async function sendFile(disk: Disk, sender: PartSender, path: string): Promise<void> {
  const fd = disk.open(path, 'r')
  try {
    const size = disk.size(fd)
    for (let at = 0; at < size; at += partBytes) {
      const part = new Uint8Array(Math.min(partBytes, size - at))
      if (disk.read(fd, part, at) < part.length)
        throw damagedLog('a pack of the replica ends early')
      await sender.add(part)
    }
  } finally {
    disk.close(fd)
  }
}

/**
 * Writes the files of a base into an empty repository, and returns the rest of it. Throws
 * `journal_corrupt` if parts are missing: another server may have replaced the base in the
 * meantime.
 */
export async function fetchBase(
  disk: Disk,
  log: SharedLog,
  base: LogBase,
  repository: string,
): Promise<FetchedBase> {
  const parts = log.parts(base.id)[Symbol.asyncIterator]()
  const next = async (): Promise<Uint8Array> => {
    const { value, done } = await parts.next()
    if (done === true) throw damagedLog('parts of its base are missing')
    return value
  }
  const manifest = parseManifest(await next())
  if (manifest.number !== base.number) throw damagedLog('its base is that of another entry')
  let bytes = 0
  for (const file of manifest.files) {
    if (!filePattern.test(file.name)) throw damagedLog('its base has a file of another kind')
    await fetchFile(disk, `${repository}/${packDirectory}/${file.name}`, file.bytes, next)
    bytes += file.bytes
  }
  writeFile(disk, `${repository}/${branchName}`, utf8(`${manifest.head}\n`))
  return { tracked: manifest.tracked, remotes: manifest.remotes, bytes }
}

/** Throws `upgrade_required` for the base of a later release. */
function parseManifest(bytes: Uint8Array): Manifest {
  let manifest: Omit<Manifest, 'version'> & { readonly version: number }
  try {
    // It was sealed by a server of this device: with this version it has the shape that we write.
    manifest = JSON.parse(utf8Text(bytes))
  } catch {
    throw damagedLog('its base has no list of files')
  }
  const { version, ...rest } = manifest
  if (version !== VERSION) throw laterRelease()
  return { version, ...rest }
}

async function fetchFile(
  disk: Disk,
  path: string,
  size: number,
  next: () => Promise<Uint8Array>,
): Promise<void> {
  const fd = disk.open(path, 'wx')
  try {
    for (let at = 0; at < size;) {
      const part = await next()
      if (part.length === 0 || at + part.length > size) throw damagedLog('a part has another size')
      disk.write(fd, part, at)
      at += part.length
    }
  } finally {
    disk.close(fd)
  }
}

export function writeFile(disk: Disk, path: string, bytes: Uint8Array): void {
  const fd = disk.open(path, 'wx')
  try {
    disk.write(fd, bytes, 0)
  } finally {
    disk.close(fd)
  }
}

/** Sends the parts of one id, a few at a time. */
export class PartSender {
  readonly id: string
  readonly #log: SharedLog
  #count = 0
  #bytes = 0
  #running: Promise<void>[] = []

  constructor(log: SharedLog, id: string) {
    this.#log = log
    this.id = id
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  async add(part: Uint8Array): Promise<void> {
    if (this.#running.length === PARALLEL) await this.#running.shift()
    const sending = this.#log.putPart(this.id, this.#count, part)
    // Its error is thrown where it is awaited.
    sending.catch(() => undefined)
    this.#running.push(sending)
    this.#count += 1
    this.#bytes += part.length
  }

  /** Resolves when all parts are durable. */
  async finish(): Promise<void> {
    const running = this.#running
    this.#running = []
    await Promise.all(running)
  }
}
