// The outer signature of a commit (FORMAT §6, §6.3): an SSHSIG (OpenSSH PROTOCOL.sshsig) that stock
// git verifies. Deterministic, so that a verifier makes it again and compares: nothing here parses
// a signature.

import { ByteWriter, concatBytes, toBase64, utf8 } from '../bytes.ts'
import { sha512 } from '../crypto/digest.ts'
import { sign } from '../crypto/signature.ts'
import type { SigningKeyPair } from '../crypto/signature.ts'
import { encodeArmor } from './armor.ts'

const MAGIC = utf8('SSHSIG')
const VERSION = 1
const KEY_TYPE = 'ssh-ed25519'
const NAMESPACE = 'git'
const HASH = 'sha512'
const LINE_WIDTH = 70
/** Who the group key belongs to, in git's list of allowed signers; it names nobody. */
const PRINCIPAL = 'gitlocket@localhost'

/** What both the signed bytes and the signature say about the purpose; "reserved" is empty. */
const PURPOSE = concatBytes(sshString(NAMESPACE), sshString(''), sshString(HASH))

/** The armored signature of a message, ending in a newline. */
export function groupSignature(message: Uint8Array, pair: SigningKeyPair): string {
  const signature = sign(concatBytes(MAGIC, PURPOSE, sshString(sha512(message))), pair)
  const blob = new ByteWriter()
    .raw(MAGIC)
    .u32(VERSION)
    .raw(sshString(publicKeyBlob(pair.publicKey)))
    .raw(PURPOSE)
    .raw(sshString(concatBytes(sshString(KEY_TYPE), sshString(signature))))
    .bytes()
  return encodeArmor('SSH SIGNATURE', blob, LINE_WIDTH)
}

/** A line for git's `gpg.ssh.allowedSignersFile`, ending in a newline. */
export function allowedSignersLine(publicKey: Uint8Array): string {
  const key = toBase64(publicKeyBlob(publicKey))
  return `${PRINCIPAL} namespaces="${NAMESPACE}" ${KEY_TYPE} ${key}\n`
}

function publicKeyBlob(publicKey: Uint8Array): Uint8Array {
  return concatBytes(sshString(KEY_TYPE), sshString(publicKey))
}

/** RFC 4251: u32 length ‖ bytes. */
function sshString(value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? utf8(value) : value
  return new ByteWriter().u32(bytes.length).raw(bytes).bytes()
}
