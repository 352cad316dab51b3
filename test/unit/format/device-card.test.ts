// Device cards as text (FORMAT §1.4): read back in spite of how they travelled, refused if anything
// in them is not what the device has signed.

import { expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { decodeBase32 } from '../../../src/format/base32.ts'
import { formatDeviceCard, parseDeviceCard } from '../../../src/format/device-card.ts'
import { formatId } from '../../../src/format/id.ts'
import { formatIdentity, generateIdentity } from '../../../src/keys/identity.ts'

const draw = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 37) & 255)
const identity = await generateIdentity(draw)
const card = formatDeviceCard(identity, { name: 'Zoë’s laptop' })
const PREFIX = 'GITLOCKET-DEVICE-1-'
const digits = card.split('\n').slice(1).join('').slice(PREFIX.length)
const refused = expect.objectContaining({ code: 'invalid_input' })
const publicHalf = {
  deviceId: identity.deviceId,
  signing: { publicKey: identity.signing.publicKey },
  kem: { publicKey: identity.kem.publicKey },
  keySignature: identity.keySignature,
  name: 'Zoë’s laptop',
}

test('a card is the two public keys, a name and two signatures, and shows its device id', () => {
  expect(parseDeviceCard(card)).toEqual(publicHalf)
  expect(card.split('\n')[0]).toContain(formatId('device', identity.deviceId))
  expect(Math.max(...card.split('\n').map((line) => line.length))).toBeLessThanOrEqual(76)
})

test.each([
  ['no name', {}, ''],
  ['an empty name', { name: '' }, ''],
  ['a name of 256 bytes', { name: '🦉'.repeat(64) }, '🦉'.repeat(64)],
])('a card with %s is read back', (_, options, name) => {
  expect(parseDeviceCard(formatDeviceCard(identity, options))).toEqual({ ...publicHalf, name })
})

test.each(['x'.repeat(65), 'a\nb', ' a', 'e\u0301', '\u0378'])(
  'no card is made with the name %j',
  (name) => {
    expect(() => formatDeviceCard(identity, { name })).toThrow(refused)
  },
)

test('a card holds nothing secret', () => {
  const secret = formatIdentity(identity).split('\n')[1]?.slice(-160, -100) ?? ''
  expect(card).not.toContain(secret)
  const bytes = toHex(decodeBase32(digits.toLowerCase()) ?? new Uint8Array())
  for (const part of [0, 32, 64]) {
    expect(bytes).not.toContain(toHex(identity.secret.subarray(part, part + 32)))
  }
})

test('an error reveals nothing of its input', () => {
  const read = (): unknown => parseDeviceCard('GITLOCKET-DEVICE-1-SECRET')
  expect(read).toThrow(refused)
  expect(read).not.toThrow(/SECRET/)
})
