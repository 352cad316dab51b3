// The search for residue of redacted versions, which `verify --absence` and `redact --prove` share.

import type { Wire } from '../../operations/wire.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { RedactionCertificate } from '../../store/redaction/certificate.ts'
import type { ResidueReport } from '../../store/redaction/residue.ts'
import type { Context } from '../call/command.ts'
import { textsOutside } from '../machine/scratch-directory.ts'
import { withProgress } from '../terminal/progress.ts'
import { builtOnRedactedJson, builtOnRedactedLines, type ReportPlace } from '../text/redactions.ts'
import { wire } from '../text/wire.ts'
import { countText, listOf, sizeText } from '../text/words.ts'

/** The exit code of any failed verification. */
const FOUND = 11

/** The objects of a certificate, which the store verifies first, must not be stored either. */
export function searchResidue(
  context: Context,
  store: MemoryStore,
  certificate: string | RedactionCertificate | undefined,
): Promise<ResidueReport> {
  const outside = textsOutside(context.environment, store)
  return withProgress(context, 'Searching for redacted versions', (options) =>
    store.maintenance.findResidue({ ...options, certificate, textsOutside: outside }),
  )
}

/** `elsewhere` are other places that were searched. */
export function residueExitCode(
  { found, builtOnRedacted, textsOutside: outside }: ResidueReport,
  elsewhere: readonly { readonly suspects: readonly unknown[] }[] = [],
): number {
  const count = found.length + builtOnRedacted.length + outside.length
  return count === 0 && elsewhere.every(({ suspects }) => suspects.length === 0) ? 0 : FOUND
}

export function residueLines(context: ReportPlace, absence: ResidueReport): readonly string[] {
  const { objects, journalBytes, cached, versions, pending, putAside, found } = absence
  const caches = countText(cached, 'version', 'versions')
  const places =
    `${countText(objects, 'object', 'objects')}, ${sizeText(journalBytes)} of journals and ` +
    `${caches} in caches`
  const redacted = countText(versions, 'redacted version', 'redacted versions')
  const searched = `Searched ${places} for ${redacted}`
  const aside = putAside === 0 ? [] : [`${putAsideText(putAside)}: not searched; ${eraseAside}`]
  const suspects = [
    ...builtOnRedactedLines(context, absence.builtOnRedacted),
    ...leftByEditLines(absence.textsOutside),
  ]
  if (found.length === 0 && suspects.length === 0) {
    return [`${searched}: nothing is left`, ...aside]
  }
  if (found.length === 0) {
    return [`${searched}: of these nothing is left, but`, ...suspects, ...aside]
  }
  const lines = found.map(({ place, objectId, versionId }) =>
    [place, objectId, versionId].filter((part) => part !== undefined).join(' '),
  )
  const due = countText(pending, 'object is', 'objects are')
  return [
    `${searched}: FOUND in ${countText(found.length, 'place', 'places')}`,
    listOf(lines),
    ...(pending === 0 ? [] : [`${due} still to be erased: run \`gitlocket compact\``]),
    ...(found.some(({ place }) => place === 'evidence') ? [eraseEvidence] : []),
    ...suspects,
    ...aside,
  ]
}

/** Such a text is unknown: an editor may have saved any of the redacted ones. */
function leftByEditLines(directories: readonly string[]): readonly string[] {
  if (directories.length === 0) return []
  const count = countText(directories.length, 'directory', 'directories')
  return [
    `${count} with a text that an editor has open, or that was left when it was killed:`,
    listOf(directories),
    `Close the editor, or remove what it left: rm -r ${directories.join(' ')}`,
  ]
}

const eraseEvidence = 'Evidence is kept of refused heads: delete gitlocket/refused of the store'

/** Names the lists of objects to erase that another identity wrote here, or someone planted. */
export function foreignListsText(count: number): string {
  const lists = countText(count, 'list', 'lists')
  return `${lists} of objects to erase that this device has not written, and does not obey`
}

/** Under its own identity, a list is obeyed until a later redaction has replaced its history. */
export const eraseForeign: string =
  '`gitlocket doctor --repair` erases what the redactions of the history have replaced, and ' +
  'moves these lists aside; `gitlocket compact` with the identity of the device that has written ' +
  'one erases too, if nothing was redacted here since'

/** What an erasure did not erase. */
export function foreignListsParagraph(count: number): readonly string[] {
  if (count === 0) return []
  const still = 'what other devices have redacted may still be stored'
  return ['', `${foreignListsText(count)}: ${still}. ${eraseForeign}`]
}

/** Names the damaged files that a repair has put aside. */
export function putAsideText(count: number): string {
  return `${countText(count, 'damaged file', 'damaged files')} in gitlocket/damaged of the store`
}

export const eraseAside: string =
  'delete that directory once nothing is missing; the next redaction erases it'

export function residueJson(absence: ResidueReport): Wire {
  return {
    ...searchedJson(absence, absence.builtOnRedacted.map(builtOnRedactedJson)),
    left_by_edit: absence.textsOutside,
  }
}

/** `builtOnRedacted` are those versions as the answer names them. */
export function searchedJson(
  absence: Omit<ResidueReport, 'builtOnRedacted' | 'textsOutside'>,
  builtOnRedacted: readonly Wire[],
): Wire {
  const { objects, journalBytes, cached, versions, pending, putAside, found } = absence
  return wire({
    objects,
    journalBytes,
    cachedVersions: cached,
    objectsToErase: pending,
    redactedVersions: versions,
    damagedFiles: putAside,
    found: found.map(({ place, objectId, versionId }) => wire({ place, objectId, versionId })),
    builtOnRedacted,
  })
}
