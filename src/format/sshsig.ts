// SSHSIG signatures (OpenSSH PROTOCOL.sshsig), which stock tools verify: the outer signature of a
// commit (FORMAT §6, §6.3), those of a redaction certificate (§10.1) and of a report (§10.3).
// Deterministic, so a verifier computes the former and compares. Of the latter only the key and the
// 64 bytes of Ed25519 are read: all around them is made again and compared, so that one signature
// has one encoding.

import { concatBytes, fromBase64, toBase64, utf8 } from '../bytes.ts'
import { sha512 } from '../crypto/digest.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { encodeArmor, findArmor } from './armor.ts'

const MAGIC = utf8('SSHSIG')
const KEY_TYPE = 'ssh-ed25519'
const GIT = 'git'
const HASH = 'sha512'
const LINE_WIDTH = 70
const ARMOR = 'SSH SIGNATURE'
const SIGNATURE_LENGTH = 64
const KEY_LENGTH = 32
/** The principal of the group key in git's list of allowed signers; it names no user. */
const PRINCIPAL = 'gitlocket@localhost'

/** The fields that the signed bytes and the signature share; "reserved" is empty. */
function purposeOf(namespace: string): Uint8Array {
  return concatBytes(sshString(namespace), sshString(''), sshString(HASH))
}

const GIT_PURPOSE = purposeOf(GIT)
const KEY_TYPE_STRING = sshString(KEY_TYPE)
/** "SSHSIG" and version 1. */
const PREAMBLE = concatBytes(MAGIC, Uint8Array.of(0, 0, 0, 1))

/** The outer signature of a commit: the armor, ending in a newline. */
export function groupSignature(message: Uint8Array, pair: SigningKeyPair): string {
  return encodeSignature(message, pair, GIT_PURPOSE)
}

/** The signature that `ssh-keygen -Y sign -n <namespace>` makes: the armor, ending in a newline. */
export function sshSignature(namespace: string, message: Uint8Array, pair: SigningKeyPair): string {
  return encodeSignature(message, pair, purposeOf(namespace))
}

/**
 * Checks that this is the signature of this key over the message in this namespace, encoded as
 * `ssh-keygen` encodes it. Throws `device_signature_invalid`.
 */
export function verifySshSignature(
  namespace: string,
  message: Uint8Array,
  armor: string,
  publicKey: Uint8Array,
): void {
  const purpose = purposeOf(namespace)
  const signature = findArmor(ARMOR, armor, 0)?.bytes.subarray(-SIGNATURE_LENGTH)
  if (signature === undefined || encodeBlob(signature, publicKey, purpose) !== armor) {
    throw new StoreError(
      'device_signature_invalid',
      `The signature is not an SSHSIG of the named key in the namespace ${namespace}`,
    )
  }
  verifySignature(signedBytes(message, purpose), signature, publicKey)
}

/**
 * The key that a signature names, 32 bytes, for `verifySshSignature` to check; undefined if the
 * text cannot be one.
 */
export function findSigner(armor: string): Uint8Array | undefined {
  const blob = findArmor(ARMOR, armor, 0)?.bytes
  const end = PREAMBLE.length + sshString(publicKeyBlob(new Uint8Array(KEY_LENGTH))).length
  return blob === undefined || blob.length < end ? undefined : blob.slice(end - KEY_LENGTH, end)
}

/** `ssh-ed25519 AAAA…`, as in a `.pub` file. */
export function sshPublicKey(publicKey: Uint8Array): string {
  return `${KEY_TYPE} ${toBase64(publicKeyBlob(publicKey))}`
}

/** The 32 bytes of exactly what `sshPublicKey` makes; undefined for anything else. */
export function parseSshPublicKey(text: string): Uint8Array | undefined {
  const blob = fromBase64(text.slice(KEY_TYPE.length + 1))
  const publicKey = blob?.slice(-KEY_LENGTH)
  return publicKey !== undefined && sshPublicKey(publicKey) === text ? publicKey : undefined
}

function encodeSignature(message: Uint8Array, pair: SigningKeyPair, purpose: Uint8Array): string {
  return encodeBlob(sign(signedBytes(message, purpose), pair), pair.publicKey, purpose)
}

function signedBytes(message: Uint8Array, purpose: Uint8Array): Uint8Array {
  return concatBytes(MAGIC, purpose, DIGEST_LENGTH, sha512(message))
}

function encodeBlob(signature: Uint8Array, publicKey: Uint8Array, purpose: Uint8Array): string {
  const blob = concatBytes(
    PREAMBLE,
    KEY_BLOB_START,
    publicKey,
    purpose,
    SIGNATURE_BLOB_START,
    signature,
  )
  return encodeArmor(ARMOR, blob, LINE_WIDTH)
}

/** A line for git's `gpg.ssh.allowedSignersFile`, ending in a newline. */
export function allowedSignersLine(publicKey: Uint8Array): string {
  return `${PRINCIPAL} namespaces="${GIT}" ${sshPublicKey(publicKey)}\n`
}

/** Before a public key of 32 bytes, and before a signature of 64: their own length included. */
const KEY_BLOB_START = blobStart(KEY_LENGTH)
const SIGNATURE_BLOB_START = blobStart(SIGNATURE_LENGTH)
/** Before a SHA-512. */
const DIGEST_LENGTH = sshString(new Uint8Array(64)).subarray(0, 4)

/** The string of a key type and a string of `length` bytes, without these bytes. */
function blobStart(length: number): Uint8Array {
  const inner = concatBytes(KEY_TYPE_STRING, sshString(new Uint8Array(length)))
  return sshString(inner).subarray(0, -length)
}

function publicKeyBlob(publicKey: Uint8Array): Uint8Array {
  return concatBytes(KEY_TYPE_STRING, sshString(publicKey))
}

/** RFC 4251: u32 length ‖ bytes. */
function sshString(value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? utf8(value) : value
  const { length } = bytes
  return concatBytes(Uint8Array.of(length >>> 24, length >>> 16, length >>> 8, length), bytes)
}
