// Identities and recovery keys as text.

import { describe, expect, test } from 'vitest'
import { signingSeed } from '../../../src/crypto/signature.ts'
import { StoreError } from '../../../src/errors.ts'
import { formatId } from '../../../src/format/id.ts'
import {
  decodeIdentity,
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateRecoveryKey,
  parseRecoveryKey,
} from '../../../src/keys/identity.ts'
import {
  formatIdentity as referenceFormat,
  formatRecoveryKey as referenceRecovery,
  parseIdentity as referenceParse,
} from '../../support/reference/identity.ts'

const draw = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 37) & 255)
const identity = await generateIdentity(draw)
const file = formatIdentity(identity)
const secretLine = file.split('\n')[1] ?? ''
const recoveryKey = generateRecoveryKey(draw)
const recoveryText = formatRecoveryKey(recoveryKey)
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
  test('has eight groups of seven digits, as in the reference implementation', () => {
    expect(recoveryText).toMatch(/^GLKR1(-[0-9A-HJKMNP-TV-Z]{7}){8}$/)
    expect(recoveryText).toBe(referenceRecovery(recoveryKey))
  })

  test.each([
    ['as written', recoveryText],
    ['in lower case', recoveryText.toLowerCase()],
    ['with spaces', ` ${recoveryText.replaceAll('-', ' ').replace('GLKR1 ', 'GLKR1-')} \n`],
    ['without groups', `GLKR1-${recoveryText.slice(6).replaceAll('-', '')}`],
  ])('is read %s', (_, text) => {
    expect(parseRecoveryKey(text)).toEqual(recoveryKey)
  })

  test.each([
    ['nothing', ''],
    ['a group less', recoveryText.slice(0, -8)],
    ['a group more', `${recoveryText}-0000000`],
    ['an identity', secretLine],
  ])('that is %s is invalid_identity', (_, text) => {
    expect(() => parseRecoveryKey(text)).toThrow(refused)
  })
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
