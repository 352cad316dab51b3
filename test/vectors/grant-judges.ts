// How the vectors of grants, wraps and starts are read (FORMAT §1.7, §12, §13).

import { toHex } from '../../src/bytes.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { epochKeys } from '../../src/keys/epoch.ts'
import { openStart } from '../../src/keys/start.ts'
import {
  decodeWraps,
  formatGrant,
  grantKeysOf,
  grantOf,
  openWraps,
  parseGrant,
} from '../../src/keys/wraps.ts'
import * as grantText from '../support/reference/grant-text.ts'
import { fullEpoch } from '../support/reference/keys.ts'
import { publicKeyOf } from '../support/reference/signature.ts'
import * as starts from '../support/reference/starts.ts'
import { bytesField, field, type Judge, type Vector } from './vector.ts'

type GrantGroup = 'grant-texts' | 'grant-secrets' | 'wraps' | 'starts'

export const grantJudges: Readonly<Record<GrantGroup, Judge>> = {
  'grant-texts': {
    product(v) {
      const grant = parseGrant(field(v, 'text'))
      const { storeId, granterKey, name, secret } = grant
      return [storeId, toHex(granterKey), name, toHex(secret), formatGrant(grant)].join(' ')
    },
    reference(v) {
      const grant = grantText.parseGrantText(field(v, 'text'))
      const { storeId, granterKey, name, secret } = grant
      return [storeId, granterKey, name, toHex(secret), grantText.formatGrantText(grant)].join(' ')
    },
  },
  'grant-secrets': { product: givenByProduct, reference: givenByReference },
  wraps: {
    product(v) {
      const { storeId, secret } = { storeId: field(v, 'storeId'), secret: bytesField(v, 'secret') }
      const grant = grantKeysOf({ storeId, secret })
      const epoch = openWraps(decodeWraps(blob(v)), bytesField(v, 'granterKey'), grant)
      return epoch && toHex(epoch.auditKey) + toHex(epoch.contentKey)
    },
    reference(v) {
      const grant = grantText.grantKeys(bytesField(v, 'secret'), field(v, 'storeId'))
      const epoch = starts.openWraps(blob(v), bytesField(v, 'granterKey'), grant)
      return epoch && toHex(epoch.audit) + toHex(epoch.content ?? new Uint8Array())
    },
  },
  starts: {
    product(v) {
      const [audit, content] = [bytesField(v, 'audit'), bytesField(v, 'content')]
      const epoch = epochKeys(field(v, 'seed'), audit, content)
      return inHex(openStart(blob(v), epoch, bytesField(v, 'granterKey')))
    },
    reference(v) {
      const seed = field(v, 'seed')
      const epoch = fullEpoch(seed, bytesField(v, 'audit'), bytesField(v, 'content'))
      return inHex(starts.openStart(blob(v), epoch, seed, bytesField(v, 'granterKey')))
    },
  },
}

function givenByProduct(v: Vector): string {
  const storeId = field(v, 'storeId')
  const signing = signingKeyPair(bytesField(v, 'signingSeed'))
  const device = { localSecret: bytesField(v, 'localSecret'), signing }
  const grant = grantOf(device, storeId, Number(field(v, 'number')))
  const { grantId, signing: own, wrap, localSecret } = grantKeysOf(grant)
  const { granterKey, secret } = grant
  const keys = [granterKey, secret, own.publicKey, wrap.key, wrap.saltKey, localSecret]
  return [grant.name, grantId, ...keys.map(toHex)].join(' ')
}

function givenByReference(v: Vector): string {
  const [storeId, localSecret] = [field(v, 'storeId'), bytesField(v, 'localSecret')]
  const name = grantText.grantName(localSecret, storeId)
  const secret = grantText.grantSecret(localSecret, storeId, Number(field(v, 'number')))
  const { grantId, signingSeed, ...others } = grantText.grantKeys(secret, storeId)
  const granterKey = publicKeyOf(bytesField(v, 'signingSeed'))
  const { wrapKey, wrapSaltKey, localSecret: own } = others
  const keys = [granterKey, secret, publicKeyOf(signingSeed), wrapKey, wrapSaltKey, own]
  return [name, grantId, ...keys.map(toHex)].join(' ')
}

/** In one form, whatever the order of the fields. */
function inHex(value: unknown): unknown {
  const text = JSON.stringify(value, (_, part: unknown) => {
    return part instanceof Uint8Array ? toHex(part) : part
  })
  return JSON.parse(text)
}

function blob(v: Vector): Uint8Array {
  return new Uint8Array(Buffer.from(field(v, 'bytes'), 'base64'))
}
