// Archives (FORMAT §7): the keys of older epochs. Older A are sealed under A and older C under C,
// so that a holder of A alone never obtains an older C.

import { equalBytes, type Sealed } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import {
  archiveContext,
  type EnvelopeKeys,
  noHedge,
  openEnvelope,
  sealEnvelope,
} from '../format/envelope.ts'
import {
  type ArchiveEntry,
  decodeArchive,
  encodeArchive,
  type KeyringFile,
} from '../format/keyring.ts'
import { type AuditKeys, auditKeys, type EpochKeys, epochKeys } from './epoch.ts'

/** `older` contains every earlier epoch, oldest first. */
export function sealArchives(
  epoch: EpochKeys,
  older: readonly EpochKeys[],
): { readonly archiveA: Sealed; readonly archiveC: Sealed } {
  const entries = older.map(({ kid, contentKey }) => ({ kid, key: contentKey, hashC: undefined }))
  return {
    archiveA: sealArchiveOfA(epoch, older),
    archiveC: seal(archiveContext(epoch, 'C'), epoch.archiveC, entries),
  }
}

/** The part of it that an auditor can make. */
export function sealArchiveOfA(epoch: AuditKeys, older: readonly AuditKeys[]): Sealed {
  const entries = older.map(({ kid, auditKey, contentKeyHash }) => {
    return { kid, key: auditKey, hashC: contentKeyHash }
  })
  return seal(archiveContext(epoch, 'A'), epoch.archiveA, entries)
}

function seal(context: Uint8Array, keys: EnvelopeKeys, entries: readonly ArchiveEntry[]): Sealed {
  return sealEnvelope('archive', keys, context, noHedge, encodeArchive(entries))
}

/** Every epoch of a keyring, oldest first, ending with `epoch`. Throws `keyring_mismatch`. */
export function openArchives(file: KeyringFile, epoch: EpochKeys): readonly EpochKeys[] {
  const contextC = archiveContext(file, 'C')
  const paddedC = openEnvelope('archive', epoch.archiveC, contextC, file.archiveC)
  const entriesC = decodeArchive(paddedC, 'C')
  const entriesA = readArchiveOfA(file, epoch)
  if (entriesA.length !== entriesC.length) throw mismatch()
  const older = entriesA.map((entry, index) => join(file.seed, entry, entriesC[index]))
  return checkDistinct([...older, epoch])
}

/** The same for an auditor: A and H(C) of every epoch. Throws `keyring_mismatch`. */
export function openAuditArchive(file: KeyringFile, epoch: AuditKeys): readonly AuditKeys[] {
  const older = readArchiveOfA(file, epoch).map(({ kid, key, hashC }) => {
    const keys = hashC === undefined ? undefined : auditKeys(file.seed, key, hashC)
    if (keys?.kid !== kid) throw mismatch()
    return keys
  })
  return checkDistinct([...older, epoch])
}

/** The kids of the earlier epochs of a verified keyring, oldest first. */
export function readArchivedKids(file: KeyringFile, epoch: AuditKeys): readonly string[] {
  return readArchiveOfA(file, epoch).map(({ kid }) => kid)
}

function readArchiveOfA(file: KeyringFile, epoch: AuditKeys): readonly ArchiveEntry[] {
  const context = archiveContext(file, 'A')
  const padded = openEnvelope('archive', epoch.archiveA, context, file.archiveA)
  return decodeArchive(padded, 'A')
}

function checkDistinct<Keys extends AuditKeys>(epochs: readonly Keys[]): readonly Keys[] {
  if (new Set(epochs.map(({ kid }) => kid)).size === epochs.length) return epochs
  throw mismatch()
}

/** The kid authenticates both keys: it is a hash of them. */
function join(
  seed: string,
  { kid, key, hashC }: ArchiveEntry,
  content: ArchiveEntry | undefined,
): EpochKeys {
  if (content?.kid !== kid || hashC === undefined) throw mismatch()
  const epoch = epochKeys(seed, key, content.key)
  if (epoch.kid !== kid || !equalBytes(epoch.contentKeyHash, hashC)) throw mismatch()
  return epoch
}

function mismatch(): StoreError {
  return new StoreError('keyring_mismatch', 'The archives of a keyring contradict each other')
}
