// The notes of this device about the grants that it gave (FORMAT §12), sealed and outside the
// store, next to the anchor: their numbers and labels, and the start and wraps on each remote. A
// lost file loses labels alone: the numbers follow from the identity and the history.

import { Gate } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type OwnFiles, readOwn, writeOwn } from './own-files.ts'
import { hasNoValue, type SealOwner } from './sealed-cache.ts'

/** A grant of this device. */
export interface GivenGrant {
  /** The grant id, 32 hex digits. */
  readonly id: string
  /** From which its secret is derived. */
  readonly number: number
  /** For people; may be empty. */
  readonly label: string
}

/** What this device has put on a remote, and the state that it was made for. */
export interface PublishedStart {
  readonly url: string
  /** The blobs of the start and the wraps. */
  readonly start: Oid
  readonly wraps: Oid
  /** The height of the head, the epoch and the number of redacted versions. */
  readonly height: number
  /** The height of the floor; undefined if an older version noted it. */
  readonly floor?: number | undefined
  readonly kid: string
  readonly redacted: number
  /** The ids of the grants that the wraps are for, ascending. */
  readonly grants: readonly string[]
  /** By this machine's clock, ms since 1970. */
  readonly at: number
  /** Whether the refs are tags, as the host refuses others. */
  readonly isTagged?: boolean
}

/** The newest start of another device that was looked at here, by the name of its ref. */
export interface SeenStart {
  readonly oid: Oid
  readonly counter: number
  /** The number of redacted versions here when it was found to have all of them. */
  readonly redacted: number
  /** Whether it does not open, or the host does not let it be removed: it is left alone. */
  readonly isRefused?: boolean
}

export interface GrantsFile {
  readonly version: 1
  /** A number that was never given. */
  readonly next: number
  /** Oldest first. */
  readonly given: readonly GivenGrant[]
  /** The counter of the last start or wraps. */
  readonly counter: number
  /** By the name of the remote. */
  readonly published: Readonly<Record<string, PublishedStart>>
  /** By the name of the remote and of the ref. */
  readonly seen: Readonly<Record<string, SeenStart>>
}

export const noGrants: GrantsFile = {
  version: 1,
  next: 0,
  given: [],
  counter: 0,
  published: {},
  seen: {},
}

/** Older ones lose their labels. */
const GIVEN_MAX = 4096
const SEEN_MAX = 256

export class GrantNotes {
  readonly #owner: SealOwner
  readonly #files: OwnFiles
  /** A change is made of the version that it has read. */
  readonly #gate = new Gate()

  constructor(owner: SealOwner, files: OwnFiles) {
    this.#owner = owner
    this.#files = files
  }

  /** Undefined if the file is missing or damaged. */
  read(): Promise<GrantsFile | undefined> {
    return this.#gate.run(() => this.#readNow())
  }

  /** The new file. Call under the writer lock. */
  change(next: (file: GrantsFile) => GrantsFile): Promise<GrantsFile> {
    return this.#gate.run(async () => {
      for (;;) {
        const { given, seen, ...file } = next((await this.#readNow()) ?? noGrants)
        const kept = {
          ...file,
          given: given.slice(-GIVEN_MAX),
          seen: Object.fromEntries(Object.entries(seen).slice(-SEEN_MAX)),
        }
        if (await writeOwn(this.#owner, this.#files, 'grants', kept)) return kept
      }
    })
  }

  async #readNow(): Promise<GrantsFile | undefined> {
    try {
      return await readOwn<GrantsFile>(this.#owner, this.#files, 'grants', 1)
    } catch (error) {
      // An engine that does not answer has lost nothing.
      if (!hasNoValue(error) || hasCode(error, 'upgrade_required')) throw error
      return undefined
    }
  }
}
