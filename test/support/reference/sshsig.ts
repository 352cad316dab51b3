// FORMAT §6 and OpenSSH's PROTOCOL.sshsig: the armored group signature of a commit. Ed25519
// signatures are deterministic, so a holder of the epoch's key makes the bytes again instead of
// verifying them.

import { concat, u32, utf8 } from './bytes.ts'
import { sha512 } from './hash.ts'
import { publicKeyOf, sign } from './signature.ts'

/** An SSH string: u32 length and bytes. */
export function sshString(value: Uint8Array | string): Uint8Array {
  const bytes = typeof value === 'string' ? utf8(value) : value
  return concat(u32(bytes.length), bytes)
}

export function sshPublicKey(publicKey: Uint8Array): Uint8Array {
  return concat(sshString('ssh-ed25519'), sshString(publicKey))
}

/** The base64 of `bytes` in lines of `width` characters, each ended by a newline. */
export function base64Lines(bytes: Uint8Array, width: number): string {
  const text = Buffer.from(bytes).toString('base64')
  return text.replaceAll(new RegExp(`.{1,${width}}`, 'g'), '$&\n')
}

/** The armor, which ends in a newline. */
export function sshSignature(message: Uint8Array, seed: Uint8Array): string {
  const preamble = utf8('SSHSIG')
  const scope = concat(sshString('git'), sshString(''), sshString('sha512'))
  const signed = concat(preamble, scope, sshString(sha512(message)))
  const signature = concat(sshString('ssh-ed25519'), sshString(sign(signed, seed)))
  const publicKey = sshString(sshPublicKey(publicKeyOf(seed)))
  const blob = concat(preamble, u32(1), publicKey, scope, sshString(signature))
  return `-----BEGIN SSH SIGNATURE-----\n${base64Lines(blob, 70)}-----END SSH SIGNATURE-----\n`
}
