// `status` and `verify`: report the state of the store, verify its whole history, and search for
// residue of redacted versions.

import { timestamp, type Wire } from '../../api/wire.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import { usageError } from '../call/command-error.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { cacheBytes } from '../machine/disk-usage.ts'
import { readCertificateFile } from '../machine/files.ts'
import { withStore, withStoreOrTrail } from '../store/open-store.ts'
import { residueExitCode, residueJson, residueLines, searchResidue } from '../store/residue.ts'
import { withProgress } from '../terminal/progress.ts'
import { deviceText } from '../text/device-text.ts'
import { joinAddress } from '../text/members.ts'
import { erasedText, reclaimableJson, repeatedText } from '../text/reclaimable.ts'
import { countText, numberText, sizeText } from '../text/sizes.ts'
import { clockText, timeFormat } from '../text/times.ts'
import { wire } from '../text/wire.ts'
import { packedBytes, storageJson } from './compact.ts'
import { guardText, settingsJson } from './settings.ts'

export function status(context: Context): Promise<Answer> {
  const asMember = async (store: MemoryStore): Promise<Answer> => {
    const found = await store.status()
    return { text: statusText(context, found), json: statusJson(context, found) }
  }
  return withStoreOrTrail(context, asMember, async () => {
    return (await import('./status-auditor.ts')).statusOfTrail(context)
  })
}

export function verify(context: Context, input: Input): Promise<Answer> {
  const { signal } = context.interrupts
  const acceptRolledBack = input.flag('accept-rolled-back')
  const certificate = certificateOf(input)
  const work = async (store: MemoryStore): Promise<Answer> => {
    const report = await withProgress(context, 'Verifying', (progress) =>
      store.maintenance.verify({ progress, signal }),
    )
    const { commits, versions, memories, head } = report
    const absence = input.flag('absence')
      ? await searchResidue(context, store, certificate)
      : undefined
    const verified =
      `Verified ${countText(commits, 'commit', 'commits')}, ` +
      `${countText(versions, 'version', 'versions')} and ` +
      `${countText(memories, 'memory', 'memories')}; the head is ${head}`
    const json = { verified: true, commits, versions, memories, head }
    if (absence === undefined) return { text: `${verified}\n`, json }
    return {
      text: [verified, ...residueLines(absence), ''].join('\n'),
      json: { ...json, absence: residueJson(absence) },
      exitCode: residueExitCode(absence),
    }
  }
  return withStore(context, work, { acceptRolledBack })
}

/** The text of the certificate of --absence. */
function certificateOf(input: Input): string | undefined {
  const file = input.text('certificate')
  if (file === undefined) return undefined
  if (input.flag('absence')) return readCertificateFile(file)
  throw usageError('--certificate needs --absence', 'verify')
}

function statusText(context: Context, found: StoreStatus): string {
  const { storage, settings } = found
  const { journalFrames, journalBytes, packs, purgePending } = storage
  const unpacked = countText(journalFrames, 'commit', 'commits')
  const { contentBytes, memories } = settings.limits
  const archived =
    settings.archivedAt === undefined
      ? []
      : [`Archived   ${timeFormat(context)(settings.archivedAt)}`]
  const clock =
    found.clockLeap === undefined
      ? []
      : [`Clock      ${clockText(found.clockLeap, timeFormat(context))}`]
  return [
    `Store      ${context.environment.storeDirectory}`,
    `Id         ${found.storeId}`,
    `Name       ${settings.name}`,
    `Device     ${deviceText(found.deviceId, found.deviceName)}, ${found.role ?? 'removed'}`,
    `Memories   ${numberText(found.memories)}, ${sizeText(found.contentBytes)}`,
    `History    ${countText(found.commits, 'commit', 'commits')}, head ${found.head}`,
    `Words      ${found.headFingerprint.join(' ')}`,
    `Members    ${found.keyringFingerprint.join(' ')}`,
    `Address    ${joinAddress(found)}`,
    ...remoteLines(found.remotes),
    ...memberLines(found),
    `Keys       replaced ${countText(found.epochs - 1, 'time', 'times')}`,
    `Limits     ${numberText(contentBytes)} bytes per memory, ` +
      `${numberText(memories)} memories`,
    `Guard      ${guardText(settings)}`,
    `Packs      ${packs.length}, ${sizeText(packedBytes(storage))}`,
    `Journal    ${unpacked} not packed yet, ${sizeText(journalBytes)}`,
    `Caches     ${sizeText(cacheBytes(context.environment))}, sealed`,
    `To free    ${repeatedText(found.reclaimable) ?? 'nothing; `gitlocket doctor` looks closer'}`,
    ...(purgePending === 0 ? [] : [`To erase   ${erasedText(purgePending, found.reclaimable)}`]),
    ...clock,
    ...archived,
    '',
  ].join('\n')
}

/** What this device knows of its remotes; contacts none. */
function remoteLines(remotes: readonly RemoteStatus[]): readonly string[] {
  if (remotes.length === 0) return ['Remotes    none; `gitlocket remote add` names one']
  return remotes.map((remote, index) => {
    return `${(index === 0 ? 'Remotes' : '').padEnd(11)}${remoteText(remote)}`
  })
}

/** What has not reached the remote that changes of devices and keys go to. */
function memberLines(found: StoreStatus): readonly string[] {
  const { remotes, membershipRemote: name, membershipPending, waitingRemovals } = found
  const remote = name ?? 'none chosen; `gitlocket remote set-membership` does'
  return [
    ...(remotes.length > 1 ? [`Changes    of devices and keys go to ${remote}`] : []),
    ...(membershipPending
      ? ['Pending    a change of devices or keys; `gitlocket sync` sends it']
      : []),
    ...(waitingRemovals.length > 0
      ? [`To remove  ${waitingRemovals.join(', ')}, with the next sync that reaches the remote`]
      : []),
  ]
}

function remoteText({ name, unsent, evidence }: RemoteStatus): string {
  const kept = evidence === undefined ? '' : `; ${evidence} keeps the refused pack`
  if (unsent === undefined) return `${name}: not synced yet${kept}`
  if (unsent === 0) return `${name}: nothing to send${kept}`
  return `${name}: ${countText(unsent, 'commit', 'commits')} not sent yet${kept}`
}

function clockJson(leap: StoreStatus['clockLeap']): Readonly<Record<string, string>> | null {
  if (leap === undefined) return null
  return { clock: timestamp(leap.clock), newest_record: timestamp(leap.newest) }
}

function statusJson(context: Context, found: StoreStatus): Wire {
  const { storeId, deviceId, role, memories, commits, head, headFingerprint, epochs } = found
  const { address, keyringFingerprint } = found
  return wire({
    store: context.environment.storeDirectory,
    storeId,
    ...settingsJson(found.settings),
    deviceId,
    deviceName: found.deviceName,
    role,
    memories,
    sizeBytes: found.contentBytes,
    commits,
    head,
    headFingerprint,
    address,
    keyringFingerprint,
    remotes: found.remotes.map(({ name, url, unsent, evidence }) =>
      wire({ name, url, unsentCommits: unsent, evidence }),
    ),
    membershipRemote: found.membershipRemote,
    membershipPending: found.membershipPending,
    waitingRemovals: found.waitingRemovals,
    epochs,
    clockLeap: clockJson(found.clockLeap),
    storage: {
      ...storageJson(found.storage),
      cache_bytes: cacheBytes(context.environment),
      reclaimable: reclaimableJson(found.reclaimable),
    },
  })
}
