// Identities and recovery keys as text.

import { describe, expect, test } from 'vitest'
import { fromHex, toHex } from '../../../src/bytes.ts'
import { signingSeed } from '../../../src/crypto/signature.ts'
import { StoreError } from '../../../src/errors.ts'
import { formatId } from '../../../src/format/id.ts'
import {
  decodeIdentity,
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  generateRecoveryKey,
  parseOperatorSecret,
  parseRecoveryKey,
} from '../../../src/keys/identity.ts'
import {
  nextOperatorKey,
  operatorRecoveryKey,
  recoveryKeyIdentity,
} from '../../../src/keys/recovery.ts'

const draw = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 37) & 255)
const identity = await generateIdentity(draw)
const file = formatIdentity(identity)
const secretLine = file.split('\n')[1] ?? ''
const recoveryKey = generateRecoveryKey(draw)
const storeId = '0123456789abcdef0123456789abcdef'
const recoveryText = formatRecoveryKey(storeId, recoveryKey)
const operatorText = await generateOperatorSecret(draw)
const refused = expect.objectContaining({ code: 'invalid_identity' })

test('an identity is its 96 bytes and names its device', () => {
  expect(signingSeed(identity.signing)).toEqual(draw(96).slice(0, 32))
  expect(identity.kem.secretKey).toEqual(draw(96).slice(32, 64))
  expect(identity.localSecret).toEqual(draw(96).slice(64))
  expect(file.split('\n')[0]).toContain(formatId('device', identity.deviceId))
})

test('two generated identities differ', async () => {
  const [one, other] = await Promise.all([generateIdentity(), generateIdentity()])
  expect(one.deviceId).not.toBe(other.deviceId)
})

describe('invalid_identity:', () => {
  test('any one changed digit, in identity and recovery key', () => {
    const start = 'GITLOCKET-IDENTITY-1-'.length
    for (let at = start; at < secretLine.length; at++) {
      expect(() => decodeIdentity(typo(secretLine, at)), `digit ${at}`).toThrow(refused)
    }
    for (let at = 'GLKR1-'.length; at < recoveryText.length; at++) {
      if (recoveryText[at] === '-') continue
      expect(() => parseRecoveryKey(typo(recoveryText, at)), `digit ${at}`).toThrow(refused)
    }
  })

  test('the error does not repeat the secret', () => {
    const broken = typo(secretLine, 40)
    const thrown = catchError(() => decodeIdentity(broken))
    expect(`${thrown.message} ${thrown.stack}`).not.toContain(broken.slice(50, 60))
  })
})

describe('a recovery key', () => {
  test.each([
    ['as written', recoveryText],
    ['in lower case', recoveryText.toLowerCase()],
    ['with spaces', ` ${recoveryText.replaceAll('-', ' ').replace('GLKR1 ', 'GLKR1-')} \n`],
    ['without groups', `GLKR1-${recoveryText.slice(6).replaceAll('-', '')}`],
  ])('is read %s', (_, text) => {
    const { key, isOf } = parseRecoveryKey(text)
    expect(key).toEqual(recoveryKey)
    expect(isOf(storeId)).toBe(true)
  })

  test('shows which store it is of by the last 5 bytes of its id, in its first group', () => {
    const { isOf } = parseRecoveryKey(recoveryText)
    expect(isOf(`${'ff'.repeat(11)}${storeId.slice(22)}`)).toBe(true)
    for (let at = 11; at < 16; at++) {
      const other = fromHex(storeId).map((byte, index) => (index === at ? byte ^ 1 : byte))
      expect(isOf(toHex(other)), `byte ${at}`).toBe(false)
    }
    const [, first] = recoveryText.split('-')
    const [, again] = formatRecoveryKey(storeId, new Uint8Array(32)).split('-')
    expect(again).toBe(first)
  })

  test.each([
    ['nothing', ''],
    ['a group less', recoveryText.slice(0, -9)],
    ['a group more', `${recoveryText}-00000000`],
    ['an identity', secretLine],
    ['an operator secret', operatorText],
  ])('that is %s is invalid_identity', (_, text) => {
    expect(() => parseRecoveryKey(text)).toThrow(refused)
  })
})

describe('an operator secret', () => {
  test.each([
    ['as written', operatorText],
    ['in lower case', operatorText.toLowerCase()],
    ['with spaces', ` ${operatorText.replaceAll('-', ' ').replace('GLKO1 ', 'GLKO1-')} \n`],
  ])('is read %s', (_, text) => {
    expect(parseOperatorSecret(text)).toEqual(draw(32))
  })

  test.each([
    ['nothing', ''],
    ['a group less', operatorText.slice(0, -8)],
    ['a group more', `${operatorText}-0000000`],
    ['a recovery key', recoveryText],
    ['one with a typing error', typo(operatorText, 20)],
  ])('that is %s is invalid_identity', (_, text) => {
    expect(() => parseOperatorSecret(text)).toThrow(refused)
  })

  test(
    'gives a store the first of 16 keys that it never had, then no more',
    { tags: 'slow' },
    () => {
      const store = { seed: '0'.repeat(32) }
      const known = new Set<string>()
      for (let counter = 0; counter < 16; counter += 1) {
        const key = nextOperatorKey(store, draw(32), known)
        expect(key).toEqual(operatorRecoveryKey(store, draw(32), counter))
        known.add(toHex(recoveryKeyIdentity(store, key).signing.publicKey))
      }
      const full = expect.objectContaining({
        code: 'store_full',
        message: expect.stringContaining('make a new operator secret'),
      })
      expect(() => nextOperatorKey(store, draw(32), known)).toThrow(full)
    },
  )
})

function typo(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === '7' ? '8' : '7') + text.slice(at + 1)
}

function catchError(action: () => unknown): StoreError {
  try {
    action()
  } catch (error) {
    if (error instanceof StoreError) return error
  }
  throw new Error('Nothing was thrown')
}
