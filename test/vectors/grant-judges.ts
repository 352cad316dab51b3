// How the vectors of grants, wraps and baselines are read (FORMAT §1.7, §12, §13).

import { toHex } from '../../src/bytes.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { epochKeys } from '../../src/keys/epoch.ts'
import { keysMissingError } from '../../src/keys/held-grant.ts'
import { openStart } from '../../src/keys/start.ts'
import {
  decodeWraps,
  formatGrant,
  grantKeysOf,
  grantOf,
  openWraps,
  parseGrant,
  refName,
} from '../../src/keys/wraps.ts'
import * as baselines from '../support/reference/baselines.ts'
import * as grantText from '../support/reference/grant-text.ts'
import { deviceIdOf } from '../support/reference/identity.ts'
import { fullEpoch } from '../support/reference/keys.ts'
import { publicKeyOf } from '../support/reference/signature.ts'
import { bytesField, field, type Judge, type Vector } from './vector.ts'

type GrantGroup = 'grant-texts' | 'grant-secrets' | 'wraps' | 'baselines'

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
      const [storeId, granterKey] = [field(v, 'storeId'), bytesField(v, 'granterKey')]
      const grant = grantKeysOf({ storeId, granterKey, secret: bytesField(v, 'secret') })
      const epoch = openWraps(decodeWraps(blob(v)), granterKey, grant)
      if (epoch === undefined) throw keysMissingError()
      return toHex(epoch.auditKey) + toHex(epoch.contentKey)
    },
    reference(v) {
      const [storeId, granterKey] = [field(v, 'storeId'), field(v, 'granterKey')]
      const grant = grantText.grantKeys({ storeId, granterKey, secret: bytesField(v, 'secret') })
      const key = bytesField(v, 'granterKey')
      const { audit, content } = baselines.openWraps(blob(v), storeId, key, grant)
      return toHex(audit) + toHex(content ?? new Uint8Array())
    },
  },
  baselines: {
    product(v) {
      const [audit, content] = [bytesField(v, 'audit'), bytesField(v, 'content')]
      const epoch = epochKeys(field(v, 'seed'), audit, content)
      const granterKey = bytesField(v, 'granterKey')
      const {
        granter: _,
        genesis,
        keyrings,
        ...said
      } = openStart(blob(v), epoch, granterKey, field(v, 'storeId'))
      const { time: genesisTime, ...first } = genesis
      return inHex({ ...said, genesisTime, line: [first, ...keyrings] })
    },
    reference(v) {
      const seed = field(v, 'seed')
      const epoch = fullEpoch(seed, bytesField(v, 'audit'), bytesField(v, 'content'))
      const [storeId, granterKey] = [field(v, 'storeId'), bytesField(v, 'granterKey')]
      return inHex(baselines.openBaseline(blob(v), storeId, epoch, seed, granterKey))
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
  const anyKey = new Uint8Array(32)
  const first = epochKeys('00'.repeat(16), anyKey, bytesField(v, 'firstContent'))
  const name = refName(first, deviceIdOf(granterKey))
  return [name, grantId, ...keys.map(toHex)].join(' ')
}

function givenByReference(v: Vector): string {
  const [storeId, localSecret] = [field(v, 'storeId'), bytesField(v, 'localSecret')]
  const granterKey = publicKeyOf(bytesField(v, 'signingSeed'))
  const name = grantText.refName(bytesField(v, 'firstContent'), deviceIdOf(granterKey))
  const secret = grantText.grantSecret(localSecret, storeId, Number(field(v, 'number')))
  const text = { storeId, granterKey: toHex(granterKey), secret }
  const { grantId, signingSeed, ...others } = grantText.grantKeys(text)
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
