// `status` on the machine of an auditor, which cannot open the store: what its verified trail
// shows, and what the clone knows of its remotes. In the words of `status`.

import type { Wire } from '../../api/wire.ts'
import type { Audit } from '../../store/audit/audit.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import { listReportedDevices } from '../../store/report/access-events.ts'
import type { Answer } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { auditHere } from '../store/open-store.ts'
import { deviceText, namesInTrail } from '../text/device-text.ts'
import { countText, numberText } from '../text/sizes.ts'
import { wire } from '../text/wire.ts'

type Remotes = Awaited<ReturnType<typeof listRemotes>>

export async function statusOfTrail(context: Context): Promise<Answer> {
  const { storeDirectory } = context.environment
  const found = await auditHere(context)
  const remotes = await listRemotes(storeDirectory)
  const devices = listReportedDevices(found.entries)
  const removed = devices.filter((device) => device.removed !== undefined).length
  const count = { active: devices.length - removed, removed }
  return {
    text: textOf(storeDirectory, found, count, remotes),
    json: jsonOf(storeDirectory, found, count, remotes),
  }
}

interface DeviceCount {
  readonly active: number
  readonly removed: number
}

function textOf(directory: string, found: Audit, devices: DeviceCount, remotes: Remotes): string {
  const { storeId, deviceId, role, memories, entries, head, headFingerprint } = found
  const name = namesInTrail(entries).get(deviceId)
  const ended = devices.removed === 0 ? '' : `; ${numberText(devices.removed)} removed`
  return [
    `Store      ${directory}`,
    `Id         ${storeId}`,
    `Device     ${deviceText(deviceId, name)}, ${role ?? 'removed'}`,
    `Memories   ${numberText(memories)}; their contents and paths are not readable here`,
    `History    ${countText(entries.length, 'commit', 'commits')}, head ${head}`,
    `Words      ${headFingerprint.join(' ')}`,
    `Members    ${found.keyringFingerprint.join(' ')}`,
    `Address    #${found.address}`,
    ...remoteLines(remotes),
    `Devices    ${numberText(devices.active)}${ended}; \`gitlocket device list\` names them`,
    '',
  ].join('\n')
}

/** An auditor sends nothing. */
function remoteLines(remotes: Remotes): readonly string[] {
  if (remotes.length === 0) return ['Remotes    none; `gitlocket remote add` names one']
  return remotes.map(({ name, url }, index) => {
    return `${(index === 0 ? 'Remotes' : '').padEnd(11)}${name}: ${url}`
  })
}

function jsonOf(directory: string, found: Audit, devices: DeviceCount, remotes: Remotes): Wire {
  const { storeId, deviceId, role, memories, entries, head, headFingerprint } = found
  return wire({
    store: directory,
    storeId,
    deviceId,
    deviceName: namesInTrail(entries).get(deviceId),
    role,
    memories,
    commits: entries.length,
    head,
    headFingerprint,
    address: found.address,
    keyringFingerprint: found.keyringFingerprint,
    remotes: remotes.map(({ name, url }) => ({ name, url })),
    devices,
    contentsReadable: false,
  })
}
