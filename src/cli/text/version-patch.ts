// The patch between two versions, or between a version and the one before it.

import { StoreError } from '../../errors.ts'
import type { FullVersion, Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { patchText, type TextChange } from './patch-text.ts'

/** Undefined for the first version of a memory. */
export async function findBase(
  store: MemoryStore,
  { baseVersionId }: Version,
): Promise<FullVersion | undefined> {
  return baseVersionId === undefined ? undefined : store.history.version(baseVersionId)
}

/** The patch of a version; undefined if a redaction leaves nothing to compare. */
export async function findVersionPatch(
  store: MemoryStore,
  version: Version,
): Promise<string | undefined> {
  const full = await store.history.version(version.versionId)
  const base = await findBase(store, version)
  if (isRedacted(full) || isRedacted(base)) return undefined
  return versionPatch(base, full)
}

/** Throws `redacted`. */
export function versionPatch(from: FullVersion | undefined, to: FullVersion): string {
  if (isRedacted(from) || isRedacted(to)) {
    throw new StoreError('redacted', 'One of the two versions was redacted')
  }
  const labels = { after: to.versionId, ...(from === undefined ? {} : { before: from.versionId }) }
  return patchText({ before: sideOf(from), after: sideOf(to) }, labels)
}

function isRedacted(version: FullVersion | undefined): boolean {
  return version?.redactedAt !== undefined
}

/** Undefined before a creation and after a deletion. */
function sideOf(version: FullVersion | undefined): TextChange['before'] {
  const { content, path } = version ?? {}
  return content === undefined || path === undefined ? undefined : { path, content }
}
