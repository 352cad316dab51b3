// The text of a grant, and what follows from its secret: what no vector shows.

import { expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import { epochKeys } from '../../../src/keys/epoch.ts'
import { formatGrant, grantKeysOf, grantOf, parseGrant, refName } from '../../../src/keys/wraps.ts'
import { countingRandom, idOf } from '../../support/forge-seal.ts'

const random = countingRandom('grant')
const device = { localSecret: random(32), signing: signingKeyPair(random(32)) }
const other = { localSecret: random(32), signing: signingKeyPair(random(32)) }
const [storeId, otherStore] = [idOf('store'), idOf('other store')]
const epoch = epochKeys(idOf('seed'), random(32), random(32))
const name = refName(epoch, deviceIdOf(device.signing.publicKey))
const grant = { ...grantOf(device, storeId, 0), name }
const text = formatGrant(grant)

test('a grant is parsed from its text of 166 characters on one line', () => {
  expect(text).toMatch(/^GLKG1-[0-9A-Z]{160}$/)
  expect(parseGrant(text)).toEqual(grant)
})

test('a grant is derived from its number, so that nothing of it need be stored', () => {
  expect({ ...grantOf(device, storeId, 0), name }).toEqual(grant)
})

test('no two numbers give one grant, and numbers end at 32 bits', () => {
  expect(grantOf(device, storeId, 2 ** 32 - 1).secret).not.toEqual(grant.secret)
  expect(() => grantOf(device, storeId, 2 ** 32)).toThrow(
    expect.objectContaining({ code: 'change_too_large' }),
  )
})

test('all grants of a device have one granter', () => {
  expect(grantOf(device, storeId, 1).granterKey).toEqual(device.signing.publicKey)
})

test.each([
  ['number', grantOf(device, storeId, 1)],
  ['store', grantOf(device, otherStore, 0)],
  ['device', grantOf(other, storeId, 0)],
])('grants that differ in the %s have nothing secret in common', (_, another) => {
  expect(secretsOf(another).filter((one) => secretsOf(grant).includes(one))).toEqual([])
})

test.each([
  ['another device', epoch, other],
  ['another epoch', epochKeys(idOf('seed'), random(32), random(32)), device],
])('%s has another name at the remote', (_, of, { signing }) => {
  expect(refName(of, deviceIdOf(signing.publicKey))).not.toBe(name)
})

test('one secret gives other keys for another store', () => {
  const [one, another] = [storeId, otherStore].map((id) => grantKeysOf({ ...grant, storeId: id }))
  expect(one?.signing.publicKey).not.toEqual(another?.signing.publicKey)
  expect(one?.wrap.key).not.toEqual(another?.wrap.key)
})

test('deriving keys leaves the secret unchanged', () => {
  const before = toHex(grant.secret)
  grantKeysOf(grant)
  expect(toHex(grant.secret)).toBe(before)
})

test('a typing error in any place is found', () => {
  for (let at = 0; at < text.length; at += 1) {
    const typed = text.slice(0, at) + (text[at] === '7' ? '8' : '7') + text.slice(at + 1)
    expect(() => parseGrant(typed), `at ${at}`).toThrow(refused)
  }
})

test('a refused text is not in the error', () => {
  const typed = text.slice(0, -1)
  expect(messageOf(() => parseGrant(typed))).not.toContain(typed.slice(6, 26))
})

const refused = expect.objectContaining({ code: 'invalid_identity' })

function secretsOf(one: Omit<typeof grant, 'name'>): readonly string[] {
  const { grantId, signing, wrap } = grantKeysOf(one)
  const keys = [one.secret, signing.publicKey, wrap.key, wrap.saltKey]
  return [grantId, ...keys.map(toHex)]
}

function messageOf(action: () => unknown): string {
  try {
    action()
    return ''
  } catch (error) {
    return String(error)
  }
}
