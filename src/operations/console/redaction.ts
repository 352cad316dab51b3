// Erasing: what would go, the erasure itself, and the proof that nothing is left.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { isRedactReason } from '../../format/record.ts'
import type { Device } from '../../store/devices/devices.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import { certificateText } from '../../store/redaction/certificate.ts'
import type { PastRedaction } from '../../store/redaction/past-redactions.ts'
import type { RedactionPlan, RedactionSelection } from '../../store/redaction/redaction-plan.ts'
import { TimeSlice } from '../../time-slice.ts'
import { hash, listOf, managing, reading, short } from './operation.ts'

const VERSIONS_MAX = 1_000_000
/** Versions whose occurrences are shown at once, and places of each. */
const SHOWN_MAX = 100
const PLACES_MAX = 5
const MATCH_LENGTH_MAX = 400

/** All that are given must hold. */
const select = z.strictObject({
  versionIds: listOf(VERSIONS_MAX).optional(),
  memoryId: short.optional(),
  path: short.optional(),
  session: short.optional(),
  actorId: short.optional(),
  /** Occurs in the content, the path or the reason; with `regex` a regular expression. */
  text: short.optional(),
  regex: z.boolean().optional(),
  withCopies: z.boolean().optional(),
})

const reasonCode: z.ZodType<RedactReason> = z.custom<RedactReason>((code) => {
  return typeof code === 'string' && isRedactReason(code)
})

export const redactionOperations = {
  'redaction.plan': reading({ select }, async ({ store, work }, { select: wanted }) => {
    const request = { select: selectionOf(wanted), reason: 'unspecified' } as const
    const found: RedactionPlan = await store.history.planRedaction(request, work)
    const { remotes } = await store.summary()
    const [all] = await store.history.stretches(1)
    return {
      ...found,
      commits: all?.commits ?? 0,
      pendingDevices: (await otherDevices(store)).map(describePending),
      remotes: remotes.map(({ name }) => name),
    }
  }),

  /** Each match of the text in these versions; the rest of its line by its length alone. */
  'redaction.occurrences': reading(
    { select, versionIds: listOf(SHOWN_MAX) },
    async ({ store, work }, { select: wanted, versionIds }) => {
      const { matching } = selectionOf(wanted)
      if (matching === undefined) return { versions: [] }
      const versions: FoundVersion[] = []
      const slice = new TimeSlice(work.signal)
      for (const versionId of versionIds) {
        if (slice.isOver()) await slice.next()
        const { content = '', path = '', reason = '' } = await store.history.version(versionId)
        const texts = { text: content, path, reason }
        versions.push({ versionId, ...findPlaces(texts, matching) })
      }
      return { versions }
    },
  ),

  'redaction.run': managing(
    'a redaction',
    {
      select,
      why: reasonCode,
      current: z.enum(['delete', 'overwrite', 'keep']).optional(),
      confirmed: listOf(VERSIONS_MAX),
    },
    async ({ store, writer, work }, { select: wanted, why, current, confirmed }) => {
      const request = { select: selectionOf(wanted), reason: why, current, confirmed }
      // A page that is closed ends nothing.
      const { progress } = work
      try {
        const { certificate } = await writer().redact(request, { progress })
        const versions = certificate?.versions.map((one) => one.memory_version_id) ?? []
        const text = certificate && certificateText(certificate)
        const redaction = certificate && (await redactionOf(store, certificate.records))
        const newHead = certificate?.new_head
        return { versions, certificate: text, redaction, newHead, isErased: true }
      } catch (error) {
        const { certificate } = error instanceof StoreError ? error.details : {}
        // The history is without the versions, though not all files are yet.
        if (certificate === undefined) throw error
        const redaction = await redactionOf(store)
        const text = certificateText(certificate)
        return { versions: confirmed, certificate: text, redaction, isErased: false }
      }
    },
  ),

  /**
   * The redactions so far, newest first, with the devices that have confirmed each and those that
   * have not. A device that joined later never had the texts.
   */
  'redaction.past': reading({}, async ({ store }) => {
    const [found, devices] = await Promise.all([
      store.maintenance.redactions(),
      store.devices.list(),
    ])
    const names = new Map(devices.map(({ deviceId, name }) => [deviceId, name]))
    const others = devices.filter(({ isThis, removed }) => !isThis && removed === undefined)
    const redactions = found.map((one) => {
      const deviceName = names.get(one.deviceId) ?? ''
      const pending = others.filter((device) => isPending(device, one))
      const confirmed = devices.filter((device) => {
        const { removed, added } = device
        return removed === undefined && added.time <= one.time && !pending.includes(device)
      })
      const confirmedDevices = confirmed.map(({ deviceId }) => deviceId)
      const pendingDevices = pending.map(describePending)
      return Object.assign({ deviceName, confirmedDevices, pendingDevices }, one)
    })
    return { redactions }
  }),

  /** The certificate of a past redaction, as often as it is asked for. */
  'redaction.certificate': reading({ redaction: hash }, async ({ store }, { redaction }) => {
    const { certificate, objectIds } = await store.maintenance.issueCertificate(redaction)
    return { certificate: certificateText(certificate), objectIds, objects: certificate.object_ids }
  }),

  'redaction.proof': reading(
    { certificate: z.string().optional() },
    async ({ store, textsOutside, work }, { certificate }) => {
      const report = await store.maintenance.findResidue({ ...work, certificate, textsOutside })
      const { remotes } = await store.summary()
      const devices = await otherDevices(store)
      const pending = devices.filter(({ unacknowledged }) => unacknowledged.length > 0)
      const behind = remotes.filter(({ unsent }) => unsent !== 0)
      return {
        ...report,
        found: report.found.map(({ place }) => ({ place })),
        pendingDevices: pending.map(describePending),
        behindRemotes: behind.map(({ name }) => name),
      }
    },
  ),
}

/** Where a version has the text. */
export interface FoundPlace {
  readonly where: 'text' | 'path' | 'reason'
  /** Of its first character, counted from 1. */
  readonly line: number
  readonly match: string
  /** How many characters of its first and of its last line are around it. */
  readonly before: number
  readonly after: number
}

export interface FoundVersion {
  readonly versionId: string
  readonly places: readonly FoundPlace[]
  /** How many more there are. */
  readonly more: number
}

type SearchedTexts = Readonly<Record<FoundPlace['where'], string>>

/** Describes the first places alone and counts the others: a short pattern may match everywhere. */
function findPlaces(texts: SearchedTexts, pattern: RegExp): Omit<FoundVersion, 'versionId'> {
  const every = new RegExp(pattern.source, `${pattern.flags}g`)
  const places: FoundPlace[] = []
  let more = 0
  for (const where of ['text', 'path', 'reason'] as const) {
    for (const { 0: found, index } of texts[where].matchAll(every)) {
      if (places.length < PLACES_MAX) places.push(placeAt(where, texts[where], index, found))
      else more += 1
    }
  }
  return { places, more }
}

function placeAt(
  where: FoundPlace['where'],
  text: string,
  index: number,
  found: string,
): FoundPlace {
  const start = index === 0 ? 0 : text.lastIndexOf('\n', index - 1) + 1
  const end = text.indexOf('\n', index + found.length)
  return {
    where,
    line: text.slice(0, index).split('\n').length,
    match: found.slice(0, MATCH_LENGTH_MAX),
    before: index - start,
    after: (end === -1 ? text.length : end) - index - found.length,
  }
}

/**
 * The redaction with one of these records; the newest one, if they are not known. Undefined if the
 * history cannot be read, since the redaction itself has not failed.
 */
async function redactionOf(
  store: MemoryStore,
  records?: readonly string[],
): Promise<string | undefined> {
  const isMeant = (one: PastRedaction): boolean =>
    records === undefined || one.records.some((record) => records.includes(record))
  try {
    return (await store.maintenance.redactions()).find(isMeant)?.redaction
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Throws `invalid_input` for an invalid pattern. */
function selectionOf({
  text,
  regex = false,
  ...others
}: z.infer<typeof select>): RedactionSelection {
  if (text === undefined) return others
  const source = regex ? text : text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
  try {
    return { ...others, matching: new RegExp(source, 'mu') }
  } catch {
    // The error of the engine quotes the text, which may be a secret.
    throw new StoreError('invalid_input', 'The text is no regular expression')
  }
}

/** The other active devices: right after an erasure each has the texts still. */
async function otherDevices(store: MemoryStore): Promise<readonly Device[]> {
  const devices = await store.devices.list()
  return devices.filter(({ isThis, removed }) => !isThis && removed === undefined)
}

function isPending({ unacknowledged }: Device, { commits }: PastRedaction): boolean {
  return unacknowledged.some(({ commit }) => commits.includes(commit))
}

function describePending({
  deviceId,
  name,
  role,
  lastRecord,
  canAcknowledge,
}: Device): PendingDevice {
  return { deviceId, name, role, lastRecord, canAcknowledge }
}
