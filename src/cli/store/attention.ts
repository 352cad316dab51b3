// What a user of this device may have to act on, each with the command for it: `status` and the
// home screen show it, and --json has it for programs. Contacts no remote.

import type { Device } from '../../store/devices/devices.ts'
import type { Grant } from '../../store/grants/grants.ts'
import { isGuardOn } from '../../store/guard/guard.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import type { Context } from '../call/command.ts'
import type { Ink } from '../terminal/ink.ts'
import { withProgress } from '../terminal/progress.ts'
import { widthOf } from '../text/table.ts'
import { agoFormat, clockText, timeFormat, untilText } from '../text/times.ts'
import { countText } from '../text/words.ts'
import { findUnseen } from './seen-conflicts.ts'

export interface Attention {
  /** For programs; never changes. */
  readonly kind: string
  /** One line, without a full stop. */
  readonly text: string
  readonly command: string
}

/** Under a heading, each with its command; one line if nothing does. */
export function attentionText(
  { environment }: Context,
  ink: Ink,
  found: readonly Attention[],
): string {
  if (found.length === 0) return `${ink.paint('green', 'Nothing needs attention')}\n`
  const { output, width } = environment.terminal
  const longest = Math.max(...found.map(({ text }) => widthOf(text)))
  const widest = Math.max(
    ...found.map(({ command }) => INDENT.length + longest + 2 + command.length),
  )
  const isNarrow = output && widest > width
  const lines = found.map(({ text, command }) => {
    const space = isNarrow ? `\n${INDENT}${INDENT}` : ' '.repeat(longest - widthOf(text) + 2)
    return `${INDENT}${ink.paint('yellow', text)}${space}${ink.plain(command)}\n`
  })
  return `${ink.paint('bold', 'Needs attention')}\n${lines.join('')}`
}

const INDENT = '  '

/** A remote that was not synced with for longer is named. */
const SYNC_MAX_MS = 7 * 86_400_000

/** The most urgent first. */
export async function findAttention(
  context: Context,
  store: MemoryStore,
  status: StoreStatus,
): Promise<readonly Attention[]> {
  const devices = await withProgress(context, 'Reading the history', (options) =>
    store.devices.list(options),
  )
  return [
    ...troubles(context, status),
    ...(await mergesToReview(context, store)),
    ...ofDevices(devices),
    ...ofMembers(status, devices),
    ...ofShown(context, status),
    // The holder of a grant sees its end in the status, and cannot do more about it.
    ...(status.grantExpiresAt === undefined ? ofGrants(context, await store.grants.list()) : []),
    ...status.remotes.flatMap((remote, _, all) => ofRemote(context, remote, all.length === 1)),
    ...ofStore(context, status),
  ]
}

/** Faults that `doctor` and `sync` look into. */
function troubles(context: Context, { clockLeap, storage }: StoreStatus): readonly Attention[] {
  const { checkpointError, foreignPurges } = storage
  return [
    ...when(checkpointError !== undefined, {
      kind: 'not_packed',
      text: 'The last changes could not be packed',
      command: 'gitlocket doctor',
    }),
    ...when(foreignPurges > 0, {
      kind: 'foreign_purges',
      text: 'Redacted objects of another store remain to erase',
      command: 'gitlocket doctor',
    }),
    ...(clockLeap === undefined
      ? []
      : [
          {
            kind: 'clock',
            text: `The clock is ${clockText(clockLeap, timeFormat(context))}`,
            command: 'gitlocket doctor',
          },
        ]),
  ]
}

async function mergesToReview(context: Context, store: MemoryStore): Promise<readonly Attention[]> {
  const { length } = await findUnseen(context, store)
  const text = `${countText(length, 'merge', 'merges')} to review`
  return when(length > 0, { kind: 'merges', text, command: 'gitlocket conflicts --resolve' })
}

function ofDevices(devices: readonly Device[]): readonly Attention[] {
  const waiting = devices.filter(({ unacknowledged, canAcknowledge }) => {
    return canAcknowledge && unacknowledged.length > 0
  })
  const forked = devices.filter(({ isForked, removed }) => isForked && removed === undefined)
  const count = new Set(waiting.flatMap((one) => one.unacknowledged.map(({ commit }) => commit)))
  const redactions = countText(count.size, 'redaction', 'redactions')
  return [
    ...forked.map((device) => ({
      kind: 'cloned_device',
      text: `${nameOf(device)} was cloned, and can no longer write`,
      command: 'gitlocket device list',
    })),
    ...when(waiting.length > 0, {
      kind: 'redactions',
      text: `${redactions} unconfirmed by ${waiting.map(nameOf).join(', ')}`,
      command: 'gitlocket device list',
    }),
  ]
}

/** Changes of devices and keys that have not reached their remote. */
function ofMembers(
  { remotes, membershipRemote, membershipPending, waitingRemovals }: StoreStatus,
  devices: readonly Device[],
): readonly Attention[] {
  const removals = devices.filter(({ deviceId }) => waitingRemovals.includes(deviceId))
  const command = 'gitlocket sync'
  return [
    ...when(membershipPending, {
      kind: 'membership_pending',
      text: 'A change of devices or keys was not sent',
      command,
    }),
    ...when(removals.length > 0, {
      kind: 'removals_waiting',
      text: `The next sync removes ${removals.map(nameOf).join(', ')}`,
      command,
    }),
    ...when(remotes.length > 1 && membershipRemote === undefined, {
      kind: 'membership_remote',
      text: 'No remote is chosen for changes of devices and keys',
      command: 'gitlocket remote set-membership',
    }),
  ]
}

const DAY_MS = 86_400_000

function ofGrants(context: Context, grants: readonly Grant[]): readonly Attention[] {
  const now = context.clock()
  const ending = grants.filter(({ status, expiresAt }) => {
    return status === 'active' && expiresAt - now < DAY_MS
  })
  const [first] = ending
  if (first === undefined) return []
  const name = first.label ? `The grant ${first.label}` : `The grant ${first.grantId}`
  const text =
    ending.length === 1
      ? `${name} ends ${untilText(context, first.expiresAt)}`
      : `${ending.length} grants end within a day`
  return [{ kind: 'grants_ending', text, command: 'gitlocket grant list' }]
}

/** The clone of a grant was shown nothing newer for longer. */
const SHOWN_MAX_MS = 7 * DAY_MS

function ofShown(context: Context, { shownAt, beginning }: StoreStatus): readonly Attention[] {
  if (shownAt === undefined || context.clock() - shownAt < SHOWN_MAX_MS) return []
  const granter = beginning?.deviceId ?? 'the device that gave the grant'
  const since = agoFormat(context)(shownAt)
  const reason = `${granter} does not sync, or the host shows an old one`
  const text = `Newest state signed ${since}: ${reason}`
  return [{ kind: 'old_state', text, command: 'gitlocket sync' }]
}

function ofRemote(
  context: Context,
  { name, unsent, syncedAt, evidence }: RemoteStatus,
  isOnly: boolean,
): readonly Attention[] {
  const command = isOnly ? 'gitlocket sync' : `gitlocket sync ${name}`
  const isOld = syncedAt !== undefined && context.clock() - syncedAt > SYNC_MAX_MS
  return [
    ...when(evidence !== undefined, {
      kind: 'refused_pack',
      text: `The last pack from ${name} was refused, and is kept in ${evidence}`,
      command,
    }),
    ...when(unsent === undefined, {
      kind: 'never_synced',
      text: `Never synced with ${name}`,
      command,
    }),
    ...when(unsent !== undefined && unsent > 0, {
      kind: 'unsent',
      text: `${countText(unsent ?? 0, 'commit', 'commits')} not sent to ${name}`,
      command,
    }),
    ...when(unsent === 0 && isOld, {
      kind: 'old_sync',
      text: `Last synced with ${name} ${agoFormat(context)(syncedAt ?? 0)}`,
      command,
    }),
  ]
}

function ofStore(context: Context, { settings, storage, role }: StoreStatus): readonly Attention[] {
  const { purgePending } = storage
  const { archivedAt } = settings
  return [
    ...when(purgePending > 0, {
      kind: 'not_erased',
      text: `${countText(purgePending, 'redacted object', 'redacted objects')} to erase here`,
      command: 'gitlocket compact',
    }),
    ...when(!isGuardOn(settings) && role === 'owner', {
      kind: 'guard_off',
      text: 'The guard is off: texts with keys and card numbers are stored',
      command: 'gitlocket settings --guard on',
    }),
    ...when(archivedAt !== undefined, {
      kind: 'archived',
      text: `Archived ${agoFormat(context)(archivedAt ?? 0)}: nothing can be written`,
      command: 'gitlocket settings',
    }),
  ]
}

function when(holds: boolean, attention: Attention): readonly Attention[] {
  return holds ? [attention] : []
}

function nameOf({ deviceId, name }: Device): string {
  return name === '' ? deviceId : name
}
