// The sources of a repair: the objects here, then a copy, which may be a directory or a remote. A
// remote is fetched completely into the store's own directory and read there. Must not trust a
// copy: its objects are hashed, and its heads verified.

import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import type { GitObject, Oid } from '../../git/objects/object.ts'
import type { RepairSite } from '../../git/repair/repair-site.ts'
import { RepositorySurvey } from '../../git/repair/repository-survey.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import { fetchInto } from '../clone/fetch-into.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

export interface CopyOptions {
  /** The name of a remote, an address as git takes it, or the path of a copy or a bare clone. */
  readonly from?: string | undefined
  readonly access?: RemoteOptions | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Reads objects of this store first, then those of the copy. */
export class RepairSource implements ObjectSource {
  readonly here: RepositorySurvey
  readonly copy: RepositorySurvey | undefined

  constructor(here: RepositorySurvey, copy: RepositorySurvey | undefined) {
    this.here = here
    this.copy = copy
  }

  read(oid: Oid): GitObject | undefined {
    return this.here.read(oid) ?? this.copy?.read(oid)
  }

  close(): void {
    this.here.close()
    this.copy?.close()
  }
}

/** Opens the copy that is named; undefined if none is. Throws `not_a_store` or a remote code. */
export async function openCopy(
  site: RepairSite,
  options: CopyOptions,
): Promise<RepositorySurvey | undefined> {
  const { from } = options
  if (from === undefined) return undefined
  const { disk } = site
  const named = site.remotes().find(({ name }) => name === from)
  const directory = findRepository(disk, named?.url ?? from)
  const { access, transfer, signal } = options
  if (directory !== undefined) return inSlices(RepositorySurvey.of(disk, directory), signal)
  const url = named?.url ?? from
  if (!isAddress(url)) {
    throw new StoreError(
      'not_a_store',
      'There is no repository to repair from: name a remote, an address or a directory',
    )
  }
  await fetchInto(site.fetched, { url, access, transfer, signal, disk }, async () => undefined)
  return inSlices(RepositorySurvey.of(disk, site.fetched), signal)
}

/** The git directory at a path or file:// address, or below it in a clone with a working tree. */
function findRepository(disk: Disk, place: string): string | undefined {
  const path = pathOf(place)
  return [path, `${path}/.git`].find((one) => disk.stat(`${one}/objects`) !== undefined)
}

function pathOf(place: string): string {
  if (!place.startsWith('file://')) return place
  const url = parseRemoteUrl(place)
  return url.kind === 'file' ? url.path : place
}

function isAddress(text: string): boolean {
  return /^[a-z]+:\/\//i.test(text) || /^[^/]+:/.test(text)
}
