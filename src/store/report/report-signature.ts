// The signature next to the file of a report (FORMAT §10.3): made by the key of a device, and
// believed by the trail of the store, or by a key that the reader has from elsewhere. Shows which
// device has signed these bytes, and about which store, since one device may be in several; not
// when, and not that what they say is true.

import { loadSodium } from '../../crypto/sodium.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { deviceIdOf, formatId } from '../../format/id.ts'
import { findSigner, sshPublicKey, sshSignature, verifySshSignature } from '../../format/sshsig.ts'
import type { Identity } from '../../keys/identity.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Audit } from '../audit/audit.ts'
import { pinnedDevice } from '../audit/verify-certificate.ts'
import { listReportedDevices, type ReportedDevice } from './access-events.ts'

/** The namespace: option `-n` of `ssh-keygen -Y verify`. */
const namespace = 'gitlocket-report'

/** The signer of a report. */
export interface ReportSigner {
  /** `memstore_…`: the store that the file is about, by its own words. */
  readonly storeId: string
  /** `dev_…` */
  readonly deviceId: string
  /** `ssh-ed25519 AAAA…` */
  readonly publicKey: string
  /** The device in the verified history; undefined unless that was asked. */
  readonly device: ReportedDevice | undefined
}

/** The armor, ending in a newline. libsodium must be loaded. */
export function signReport(file: Uint8Array, { signing }: Identity): string {
  return sshSignature(namespace, file, signing)
}

/**
 * The signer of the bytes of a file. Believed is the verified trail, or the device whose key the
 * reader knows; `unknown` asks for no more than that the key which the signature names has made it:
 * anybody can make such a report. Throws `report_invalid`, `store_id_mismatch` for one about
 * another store, and `invalid_input` for a malformed key. The device may be removed: its key proves
 * nothing about what was signed since.
 */
export async function verifyReport(
  file: Uint8Array,
  signature: string,
  trust: Audit | { readonly key: string } | 'unknown',
): Promise<ReportSigner> {
  await loadSodium()
  const publicKey = checkSignature(file, signature)
  const storeId = findStoreId(file)
  const deviceId = formatId('device', deviceIdOf(publicKey))
  const signer = { storeId, deviceId, publicKey: sshPublicKey(publicKey), device: undefined }
  if (trust === 'unknown') return signer
  if ('key' in trust) {
    const pinned = pinnedDevice(trust.key)
    if (pinned === deviceId) return signer
    throw invalid(`is signed by ${deviceId}, and the given key is that of ${pinned}`)
  }
  if (storeId !== trust.storeId) {
    const message = `The report is about the store ${storeId}, and this one is ${trust.storeId}`
    throw new StoreError('store_id_mismatch', message)
  }
  const device = listReportedDevices(trust.entries).find((one) => one.deviceId === deviceId)
  if (device !== undefined) return { ...signer, device }
  throw invalid(`is signed by ${deviceId}, which was never a device of the store ${trust.storeId}`)
}

/** The first one in the file: what follows may name others, as the name of the store. */
function findStoreId(file: Uint8Array): string {
  const text = Bytes.from(file).toString('latin1')
  const [storeId] = /memstore_[0-7][0-9a-hjkmnp-tv-z]{25}/.exec(text) ?? []
  if (storeId === undefined) throw invalid('names no store')
  return storeId
}

/** Returns the key that the signature names. */
function checkSignature(file: Uint8Array, signature: string): Uint8Array {
  const publicKey = findSigner(signature)
  if (publicKey === undefined) throw invalid('has no signature: the given one is not an SSHSIG')
  try {
    verifySshSignature(namespace, file, signature, publicKey)
    return publicKey
  } catch (error) {
    if (!hasCode(error, 'device_signature_invalid')) throw error
    throw invalid('differs from the signed file, or was not signed as a report')
  }
}

function invalid(problem: string): StoreError {
  return new StoreError('report_invalid', `The report ${problem}`)
}
