// The grants that a change of rights ends, as they are told before it and with its result.

import type { Wire } from '../../operations/wire.ts'
import type { EndingGrant } from '../../store/devices/ending-grants.ts'
import { visible } from '../../text/visible.ts'
import type { Context } from '../call/command.ts'
import { type DeviceNames, deviceText } from './device-text.ts'
import { timeFormat } from './times.ts'
import { wire } from './wire.ts'
import { countText } from './words.ts'

/** Before the change: on standard error, where the question follows. */
export function warnOfEnding(
  context: Context,
  grants: readonly EndingGrant[],
  names: DeviceNames,
): void {
  if (grants.length === 0) return
  const lines = grantLines(context, grants, names)
  const head = `This ends ${countText(grants.length, 'grant', 'grants')} for good:`
  process.stderr.write(`${[head, ...lines].join('\n')}\n\n`)
}

/** Lines of its result, none without grants. */
export function endedLines(
  context: Context,
  grants: readonly EndingGrant[],
  names: DeviceNames,
): readonly string[] {
  if (grants.length === 0) return []
  const head = `Ended ${countText(grants.length, 'grant', 'grants')}:`
  return ['', head, ...grantLines(context, grants, names)]
}

function grantLines(
  context: Context,
  grants: readonly EndingGrant[],
  names: DeviceNames,
): readonly string[] {
  const time = timeFormat(context)
  return grants.map(({ grantId, label, role, grantedBy, expiresAt }) => {
    const grant = label ? `${label} (${grantId})` : grantId
    const giver = deviceText(grantedBy, names.get(grantedBy))
    return visible(`  ${grant} as ${role}, until ${time(expiresAt)}, given by ${giver}`)
  })
}

export function endsGrantsJson(grants: readonly EndingGrant[]): readonly Wire[] {
  return grants.map(({ grantId, label, role, grantedBy, expiresAt }) =>
    wire({ type: 'grant', id: grantId, label, role, grantedBy, expiresAt }),
  )
}
