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
import {
  formatIdentity as referenceFormat,
  formatOperatorSecret as referenceOperator,
  formatRecoveryKey as referenceRecovery,
  operatorRecoveryKey as referenceOperatorKey,
  parseIdentity as referenceParse,
} from '../../support/reference/identity.ts'

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

test('an identity is read back, here and by the reference implementation', () => {
  expect(decodeIdentity(file)).toEqual(identity)
  expect(referenceParse(file)).toBeDefined()
  expect(file).toContain(referenceFormat(referenceParse(file)).trim())
})

describe('an identity is read in spite of', () => {
  test.each([
    ['lower case', secretLine.toLowerCase()],
    ['spaces and hyphens', secretLine.replaceAll(/(.{40})(?=.)/g, '$1 -')],
    ['look-alikes', look(secretLine)],
    ['comments and blank lines', `\n# a\n\n${file}\n# b\n`],
    ['line ends of another system', file.replaceAll('\n', '\r\n')],
    ['no line end', secretLine],
  ])('%s', (_, text) => {
    expect(decodeIdentity(text)).toEqual(identity)
  })
})

describe('invalid_identity:', () => {
  test.each([
    ['nothing', ''],
    ['a comment alone', '# nothing'],
    ['two identities', `${secretLine}\n${secretLine}`],
    ['no prefix', secretLine.slice('GITLOCKET-IDENTITY-1-'.length)],
    ['another version', secretLine.replace('-1-', '-2-')],
    ['a digit less', secretLine.slice(0, -1)],
    ['a digit more', `${secretLine}0`],
    ['a letter that is no digit', `${secretLine.slice(0, -1)}U`],
    ['a recovery key', recoveryText],
  ])('%s', (_, text) => {
    expect(() => decodeIdentity(text)).toThrow(refused)
  })

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
  test('has eight groups of eight digits, as in the reference implementation', () => {
    expect(recoveryText).toMatch(/^GLKR1(-[0-9A-HJKMNP-TV-Z]{8}){8}$/)
    expect(recoveryText).toBe(referenceRecovery(storeId, recoveryKey))
  })

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

  test('says which store it is of by the last 5 bytes of its id, in its first group', () => {
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
  test('has eight groups of seven digits, as in the reference implementation', () => {
    expect(operatorText).toMatch(/^GLKO1(-[0-9A-HJKMNP-TV-Z]{7}){8}$/)
    expect(operatorText).toBe(referenceOperator(draw(32)))
  })

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

  test('gives each store other recovery keys, as in the reference implementation', () => {
    const places = ['0'.repeat(32), 'f'.repeat(32)].flatMap((seed) =>
      [0, 1, 15].map((n) => [seed, n] as const),
    )
    const keys = places.map(([seed, counter]) => operatorRecoveryKey({ seed }, draw(32), counter))
    expect(keys).toEqual(
      places.map(([seed, counter]) => referenceOperatorKey(draw(32), seed, counter)),
    )
    expect(new Set(keys.map(toHex)).size).toBe(6)
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

/** The digits 1 and 0 after the prefix, typed as letters. */
function look(line: string): string {
  const at = 'GITLOCKET-IDENTITY-1-'.length
  const digits = line.slice(at).replace('1', 'I').replace('1', 'l').replaceAll('0', 'o')
  return line.slice(0, at) + digits
}
