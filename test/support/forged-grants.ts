// The holders of forged grants, and the rows that begin and end these (FORMAT §12): grant-cases.ts
// has histories with them.

import { utf8 } from '../../src/bytes.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import { type SigningKeyPair, signingKeyPair } from '../../src/crypto/signature.ts'
import type { GrantTerms } from '../../src/format/change-record.ts'
import { grantIdOf } from '../../src/format/id.ts'
import { zeroHash } from '../../src/format/record.ts'
import { type Fault, fields, type ForgedAuthor, type ForgedGrantRow } from './forge-fault.ts'
import type { Forge } from './forge.ts'

export interface Holder extends ForgedAuthor {
  readonly key: Uint8Array
}

export function holderOf(name: string): Holder {
  return holderWith(signingKeyPair(hash256(utf8(name))))
}

export function holderWith(signing: SigningKeyPair): Holder {
  return { signing, key: signing.publicKey, heldKey: signing.publicKey, deviceId: '' }
}

export const holder: Holder = holderOf('a holder')
export const other: Holder = holderOf('another holder')
/** After every record of a forge. */
export const notAfter = 1_800_000_000_000
export const byHolder: Fault = { ...fields({ sequence: 0, previous: zeroHash }), author: holder }

export const DAY = 86_400_000

/** As the holder of what a device gave, which others may have begun since. */
export function byHolderOf(granter: string): Fault {
  return {
    ...byHolder,
    author: { signing: holder.signing, deviceId: grantIdOf(granter, holder.key) },
  }
}

/** By the holder, this much later than its grant. */
export function dated({ entries }: Forge, laterMs: number): Fault {
  const begin = entries.findLast(({ record }) => record.kind === 'grants')?.record.time ?? 0
  const time = begin + laterMs
  return { ...fields({ sequence: 0, previous: zeroHash, time }), author: holder }
}

export function begins({ key }: Holder, terms: Partial<GrantTerms> = {}): ForgedGrantRow {
  return { key, begins: { role: 'writer', notAfter, ...terms } }
}

export function ends({ key }: Holder): ForgedGrantRow {
  return { key, begins: undefined }
}
