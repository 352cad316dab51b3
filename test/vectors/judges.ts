// How each group of vectors is read: by the product and, from nothing but the document, by the
// reference decoder. Both return what they read, in one form, or throw.

import { fromHex, toHex, utf8 } from '../../src/bytes.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { StoreError } from '../../src/errors.ts'
import { parseAddress } from '../../src/format/address.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../src/format/commit.ts'
import { decodeDetail, encodeDetail } from '../../src/format/detail.ts'
import { parseDeviceCard } from '../../src/format/device-card.ts'
import { decodeDirectory, encodeDirectory } from '../../src/format/directory.ts'
import { type EnvelopeType, openDeterministic, openEnvelope } from '../../src/format/envelope.ts'
import { headFingerprint, keyringFingerprint } from '../../src/format/fingerprint.ts'
import { type IdKind, parseId } from '../../src/format/id.ts'
import { decodeKeyring as decodeKeyringByProduct } from '../../src/format/keyring.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { checkPath } from '../../src/format/path.ts'
import { parseStoreFile } from '../../src/format/public-files.ts'
import { decodeRecord, encodeSignedBody, verifyRecordSignature } from '../../src/format/record.ts'
import { decodeSettings, encodeSettings } from '../../src/format/settings.ts'
import { decodeIdentity, parseOperatorSecret, parseRecoveryKey } from '../../src/keys/identity.ts'
import { checkKeyring } from '../../src/keys/keyring-bytes.ts'
import { openKeyring } from '../../src/keys/keyring.ts'
import { operatorRecoveryKey } from '../../src/keys/recovery.ts'
import type { Unlock } from '../../src/keys/unlock.ts'
import { placedTime } from '../../src/store/history/record-times.ts'
import { readCertificate } from '../../src/store/redaction/certificate-text.ts'
import { inSlices } from '../../src/time-slice.ts'
import { makeHistory } from '../support/histories.ts'
import * as certificate from '../support/reference/certificate.ts'
import * as commit from '../support/reference/commit.ts'
import * as detail from '../support/reference/detail.ts'
import * as deviceCard from '../support/reference/device-card.ts'
import * as directory from '../support/reference/directory.ts'
import * as envelope from '../support/reference/envelope.ts'
import * as identity from '../support/reference/identity.ts'
import { decodeKeyring, openDirectory } from '../support/reference/keyring.ts'
import * as memory from '../support/reference/memory.ts'
import * as path from '../support/reference/path.ts'
import * as publicFiles from '../support/reference/public-files.ts'
import * as record from '../support/reference/record.ts'
import { refuse } from '../support/reference/refusal.ts'
import * as settings from '../support/reference/settings.ts'
import { placedTimes, type TimedRecord } from '../support/reference/times.ts'
import { type Secret, unlock } from '../support/reference/unlock.ts'
import { headWords, keyringWords } from '../support/reference/words.ts'
import { readByProduct, readByReference } from '../support/verdict.ts'
import { grantJudges } from './grant-judges.ts'
import { rowJudges } from './row-judges.ts'
import { bytesField, field, type Group, type Judge, type Vector } from './vector.ts'

const padded = (vector: Vector): Uint8Array => bytesField(vector, 'padded')
const text = (vector: Vector): string => field(vector, 'text')

export const judges: Readonly<Record<Group, Judge>> = {
  ids: {
    product: (v) => parseId(idKind(v), text(v)),
    reference: (v) => identity.parseId(idKind(v), text(v)),
  },
  addresses: {
    product(v) {
      const { url, storeId, state = '' } = parseAddress(text(v))
      // A url alone is no address (FORMAT §1.8), and the product takes one where it needs a remote.
      if (storeId === undefined) throw new StoreError('invalid_input', 'The address names no store')
      return [url, storeId, state].join(' ')
    },
    reference(v) {
      const { url, storeId, state } = identity.parseAddress(text(v))
      return [url, storeId, state].join(' ')
    },
  },
  words: {
    product(v) {
      const [storeId, hash] = [field(v, 'storeId'), bytesField(v, 'record')]
      return [...headFingerprint(storeId, hash), ...keyringFingerprint(storeId, hash)].join(' ')
    },
    reference(v) {
      const [storeId, hash] = [field(v, 'storeId'), toHex(bytesField(v, 'record'))]
      return `${headWords(storeId, hash)} ${keyringWords(storeId, hash)}`
    },
  },
  paths: {
    product: (v) => checkPath(text(v)),
    reference: (v) => path.checkPath(text(v), 'invalid_path'),
  },
  identities: {
    product: (v) => toHex(decodeIdentity(text(v)).secret),
    reference(v) {
      const { signingSeed, kemSeed, localSecret } = identity.parseIdentity(text(v))
      return [signingSeed, kemSeed, localSecret].map(toHex).join('')
    },
  },
  'recovery-keys': {
    product(v) {
      const { key, isOf } = parseRecoveryKey(text(v))
      return [toHex(key), isOf(field(v, 'storeId'))].join(' ')
    },
    reference(v) {
      const { key, storeEnd } = identity.parseRecoveryKey(text(v))
      return [toHex(key), storeEnd === identity.storeEndOf(field(v, 'storeId'))].join(' ')
    },
  },
  'operator-secrets': {
    product(v) {
      const secret = parseOperatorSecret(text(v))
      const store = { seed: field(v, 'seed') }
      return counters.map((n) => toHex(operatorRecoveryKey(store, secret, n))).join(' ')
    },
    reference(v) {
      const secret = identity.parseOperatorSecret(text(v))
      const seed = field(v, 'seed')
      return counters.map((n) => toHex(identity.operatorRecoveryKey(secret, seed, n))).join(' ')
    },
  },
  'device-cards': { product: cardByProduct, reference: cardByReference },
  ...grantJudges,
  ...rowJudges,
  'store-files': {
    product: (v) => parseStoreFile(utf8(text(v))),
    reference: (v) => publicFiles.parseStoreFile(utf8(text(v))),
  },
  envelopes: { product: openByProduct, reference: openByReference },
  records: { product: recordByProduct, reference: recordByReference },
  details: {
    product: (v) => toHex(encodeDetail(decodeDetail(padded(v)))),
    reference: (v) => toHex(detail.encodeDetail(detail.decodeDetail(padded(v)))),
  },
  memories: {
    product: (v) => toHex(encodeMemoryBlob(decodeMemoryBlob(padded(v)))),
    reference: (v) => toHex(memory.encodeMemoryBlob(memory.decodeMemoryBlob(padded(v)))),
  },
  settings: {
    product: (v) => toHex(encodeSettings(decodeSettings(padded(v)))),
    reference: (v) => toHex(settings.encodeSettings(settings.decodeSettings(padded(v)))),
  },
  directories: {
    product: (v) => toHex(encodeDirectory(decodeDirectory(padded(v)))),
    reference: (v) => toHex(directory.encodeDirectory(directory.decodeDirectory(padded(v)))),
  },
  certificates: {
    product(v) {
      const { signature: _, ...statement } = readCertificate(text(v))
      return JSON.stringify(statement)
    },
    reference: (v) => certificate.readCertificate(text(v)),
  },
  keyrings: { product: keyringByProduct, reference: keyringByReference },
  commits: { product: commitByProduct, reference: commitByReference },
  times: {
    product(v) {
      const history = makeHistory(timedRecords(v))
      return asPlaced(
        v,
        Array.from(history.commits, (one) => placedTime(history, one)),
      )
    },
    reference: (v) => asPlaced(v, placedTimes(timedRecords(v))),
  },
  stores: {
    product: (v, objects) => readByProduct(objects, field(v, 'head'), unlockOf(v)),
    reference: (v, objects) => readByReference(objects, field(v, 'head'), secretOf(v)),
  },
}

/** `time parent parent; …`, parents by their place in the list. */
function timedRecords(v: Vector): readonly TimedRecord[] {
  return field(v, 'records')
    .split('; ')
    .map((words) => {
      const [time = Number.NaN, ...parents] = words.split(' ').map(Number)
      return { time, parents }
    })
}

function asPlaced(v: Vector, times: readonly number[]): string {
  const placed = times.join(' ')
  if (placed === field(v, 'placed')) return placed
  throw new Error(`Placed at ${placed}`)
}

function cardByProduct(v: Vector): string {
  const { deviceId, signing, kem, name } = parseDeviceCard(text(v))
  return [deviceId, toHex(signing.publicKey), toHex(kem.publicKey), name].join(' ')
}

function cardByReference(v: Vector): string {
  const { deviceId, signingKey, kemKey, name } = deviceCard.parseDeviceCard(text(v))
  return [deviceId, toHex(signingKey), toHex(kemKey), name].join(' ')
}

function openByProduct(v: Vector): string {
  const type = envelopeType(v)
  const context = bytesField(v, 'context')
  const hedge = v['hedge']
  const bytes = bytesField(v, 'bytes')
  return toHex(
    hedge === undefined
      ? openEnvelope(type, keysOf(v), context, bytes)
      : openDeterministic(type, keysOf(v), context, fromHex(hedge), bytes),
  )
}

function openByReference(v: Vector): string {
  const type = envelopeType(v)
  const context = bytesField(v, 'context')
  const hedge = v['hedge']
  const bytes = bytesField(v, 'bytes')
  return toHex(
    hedge === undefined
      ? envelope.openEnvelope(type, keysOf(v), context, bytes)
      : envelope.openDeterministic(type, keysOf(v), context, fromHex(hedge), bytes),
  )
}

function recordByProduct(v: Vector): string {
  const decoded = decodeRecord(padded(v))
  const [store, publicKey] = [{ seed: field(v, 'seed') }, bytesField(v, 'publicKey')]
  verifyRecordSignature(store, decoded.body, decoded.signature, publicKey)
  return toHex(encodeSignedBody(decoded.record)) + toHex(decoded.signature)
}

function recordByReference(v: Vector): string {
  const decoded = record.decodeRecord(padded(v))
  record.verifyRecordSignature(field(v, 'seed'), decoded, bytesField(v, 'publicKey'))
  return toHex(record.encodeSignedBody(decoded.record)) + toHex(decoded.signature)
}

async function keyringByProduct(v: Vector): Promise<string> {
  const bytes = keyringBytes(v)
  const opened = await openKeyring(bytes, field(v, 'storeId'), unlockOf(v))
  const { directory: members, epoch } = opened
  const older = [...opened.epochs.values()].filter(({ kid }) => kid !== epoch.kid)
  const parts = { directory: members, epoch, older }
  await inSlices(checkKeyring(decodeKeyringByProduct(bytes), parts))
  const { auditKey, contentKey } = epoch
  return [auditKey, contentKey, encodeDirectory(opened.directory)].map(toHex).join(' ')
}

function keyringByReference(v: Vector): string {
  const keyring = decodeKeyring(keyringBytes(v))
  const epoch = unlock(keyring, field(v, 'storeId'), secretOf(v)).at(-1)
  if (epoch?.content === undefined) return refuse('upgrade_required', 'An auditor reads this')
  const opened = directory.encodeDirectory(openDirectory(keyring, epoch))
  return [epoch.audit, epoch.content, opened].map(toHex).join(' ')
}

function keyringBytes(v: Vector): Uint8Array {
  return new Uint8Array(Buffer.from(field(v, 'bytes'), 'base64'))
}

function commitByProduct(v: Vector): string {
  const bytes = Buffer.from(field(v, 'bytes'), 'base64')
  const parts = parseCommit(bytes)
  const group = signingKeyPair(bytesField(v, 'groupSeed'))
  verifyCommitBytes(bytes, parts, group)
  return toHex(encodeCommit(parts, group))
}

function commitByReference(v: Vector): string {
  const bytes = Buffer.from(field(v, 'bytes'), 'base64')
  const parsed = commit.parseCommit(bytes)
  commit.checkCanonical(bytes, parsed)
  const seed = bytesField(v, 'groupSeed')
  commit.checkGroupSignature(parsed, seed)
  return toHex(commit.encodeCommit(parsed, seed))
}

function keysOf(v: Vector): { kid: string; key: Uint8Array; saltKey: Uint8Array } {
  return { kid: field(v, 'kid'), key: bytesField(v, 'key'), saltKey: bytesField(v, 'saltKey') }
}

function unlockOf(v: Vector): Unlock {
  const { passphrase, recoveryKey, operatorSecret } = v
  if (passphrase !== undefined) return { type: 'passphrase', passphrase }
  if (operatorSecret !== undefined) return { type: 'operator', operatorSecret }
  if (recoveryKey !== undefined) return { type: 'recovery', recoveryKey }
  return { type: 'identity', identity: decodeIdentity(field(v, 'identity')) }
}

function secretOf(v: Vector): Secret {
  const { passphrase, recoveryKey, operatorSecret } = v
  if (passphrase !== undefined) return { passphrase }
  if (operatorSecret !== undefined) return { operatorSecret }
  if (recoveryKey !== undefined) return { recoveryKey }
  return { identity: field(v, 'identity') }
}

/** Judges the keys of an operator secret. */
const counters: readonly number[] = Array.from({ length: 16 }, (_, counter) => counter)

function idKind(v: Vector): IdKind {
  const kind = field(v, 'kind')
  if (kind === 'store' || kind === 'memory' || kind === 'version' || kind === 'device') return kind
  throw new Error('No such kind of id')
}

const envelopeTypes: readonly EnvelopeType[] = [
  'record',
  'memory',
  'detail',
  'settings',
  'slot',
  'cache',
  'directory',
  'archive',
  'wrap',
  'baseline',
]

function envelopeType(v: Vector): EnvelopeType {
  const type = envelopeTypes.find((known) => known === field(v, 'type'))
  if (type === undefined) throw new Error('No such type of envelope')
  return type
}
