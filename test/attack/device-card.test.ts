// T21: an attacker who can change a device card in transit gets no access and denies it to nobody,
// if its fingerprint is compared. FORMAT §1.4.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concatBytes, label } from '../../src/bytes.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import { sign } from '../../src/crypto/signature.ts'
import { encodeBase32 } from '../../src/format/base32.ts'
import { formatDeviceCard } from '../../src/format/device-card.ts'
import { formatId } from '../../src/format/id.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { author, newStore } from '../support/stores.ts'

const machine = await generateIdentity()
const attacker = await generateIdentity()
const fingerprint = formatId('device', machine.deviceId)
const [own, theirs] = [machine, attacker].map(({ signing, kem }) => ({
  signing,
  kem: kem.publicKey,
}))

let store: MemoryStore
beforeEach(async () => {
  ;({ store } = await newStore())
})
afterEach(() => store.close())

describe('T21: a card is refused', () => {
  test.each<[what: string, card: () => string]>([
    ['of the attacker', () => formatDeviceCard(attacker)],
    ['with its encryption key, signed by it', () => cardOf(own?.signing.publicKey, theirs?.kem)],
    ['with its signing key', () => cardOf(theirs?.signing.publicKey, own?.kem)],
    ['with a key that nothing can be sealed to', () => cardOf(own?.signing.publicKey, weak)],
    ['of an older label', () => cardOf(own?.signing.publicKey, theirs?.kem, 'GLK1/device-card/v0')],
  ])('%s', async (_, card) => {
    const added = store.as(author).devices.add(card(), 'owner', { fingerprint })
    await expect(added).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await store.devices.list()).toHaveLength(1)
  })

  const weak = new Uint8Array(1216)
})

test('T21: the card of the machine itself is accepted', async () => {
  await store.as(author).devices.add(formatDeviceCard(machine), 'reader', { fingerprint })
  expect((await store.devices.list()).at(-1)).toMatchObject({
    deviceId: fingerprint,
    role: 'reader',
  })
})

/** Signed by the attacker, who has no other key to sign with. */
function cardOf(
  signingKey: Uint8Array = new Uint8Array(),
  kemKey: Uint8Array = new Uint8Array(),
  purpose = 'GLK1/device-card/v1',
): string {
  const keys = concatBytes(signingKey, kemKey)
  const signature = sign(concatBytes(label(purpose), keys), attacker.signing)
  const bytes = concatBytes(keys, signature)
  const check = hash256(label('GLK1/device-card-text/v1'), bytes).subarray(0, 3)
  return `GITLOCKET-DEVICE-1-${encodeBase32(concatBytes(bytes, check))}`
}
