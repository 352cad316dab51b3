// Erasing: what would go, the erasure itself, and the proof that nothing is left.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { isRedactReason } from '../../format/record.ts'
import type { Device } from '../../store/devices/devices.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { PastRedaction } from '../../store/redaction/past-redactions.ts'
import type { RedactionPlan, RedactionSelection } from '../../store/redaction/redaction-plan.ts'
import { hash, listOf, managing, reading, short } from './operation.ts'

const VERSIONS_MAX = 1_000_000

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
    const { commits = 0, remotes } = await store.summary()
    return {
      ...found,
      commits,
      pendingDevices: (await otherDevices(store)).map(describePending),
      remotes: remotes.map(({ name }) => name),
    }
  }),

  'redaction.run': managing(
    'a redaction',
    {
      select,
      why: reasonCode,
      current: z.enum(['delete', 'overwrite', 'keep']).optional(),
      confirmed: listOf(VERSIONS_MAX),
    },
    async ({ writer, work }, { select: wanted, why, current, confirmed }) => {
      const request = { select: selectionOf(wanted), reason: why, current, confirmed }
      // A page that is closed ends nothing.
      const { progress } = work
      try {
        const { certificate } = await writer().redact(request, { progress })
        const versions = certificate?.versions.map((one) => one.memory_version_id) ?? []
        const text = certificate && textOf(certificate)
        return { versions, certificate: text, newHead: certificate?.new_head, isErased: true }
      } catch (error) {
        const { certificate } = error instanceof StoreError ? error.details : {}
        // The history is without the versions, though not all files are yet.
        if (certificate === undefined) throw error
        return { versions: confirmed, certificate: textOf(certificate), isErased: false }
      }
    },
  ),

  /** The redactions so far, newest first, with the devices that have not confirmed each. */
  'redaction.past': reading({}, async ({ store }) => {
    const [found, devices] = await Promise.all([
      store.maintenance.redactions(),
      store.devices.list(),
    ])
    const names = new Map(devices.map(({ deviceId, name }) => [deviceId, name]))
    const others = devices.filter(({ isThis, removed }) => !isThis && removed === undefined)
    const redactions = found.map((one) => {
      const deviceName = names.get(one.deviceId) ?? ''
      const pendingDevices = others.filter((device) => isPending(device, one)).map(describePending)
      return Object.assign({ deviceName, pendingDevices }, one)
    })
    return { redactions }
  }),

  /** The certificate of a past redaction, as often as it is asked for. */
  'redaction.certificate': reading({ redaction: hash }, async ({ store }, { redaction }) => {
    const { certificate, objectIds } = await store.maintenance.issueCertificate(redaction)
    return { certificate: textOf(certificate), objectIds, objects: certificate.object_ids }
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

function textOf(certificate: object): string {
  return `${JSON.stringify(certificate, undefined, 2)}\n`
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
