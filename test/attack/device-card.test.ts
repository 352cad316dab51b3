// T21: an attacker who can change a device card in transit gains no access and denies it to no one,
// if its fingerprint is compared. FORMAT §1.4.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concatBytes, label, utf8 } from '../../src/bytes.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import { sign } from '../../src/crypto/signature.ts'
import { encodeBase32 } from '../../src/format/base32.ts'
import { formatDeviceCard } from '../../src/format/device-card.ts'
import { formatId } from '../../src/format/id.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { withKem } from '../support/forge-fault.ts'
import { author, newStore, reopen } from '../support/stores.ts'

const machine = await generateIdentity()
const attacker = await generateIdentity()
const fingerprint = formatId('device', machine.deviceId)
let store: MemoryStore
beforeEach(async () => {
  ;({ store } = await newStore())
})
afterEach(() => store.close())

describe('T21: a card is refused', () => {
  test.each<[what: string, card: () => string]>([
    ['of the attacker', () => formatDeviceCard(attacker)],
    ['with its encryption key, signed by it', () => cardOf(stolen({ kem: attacker.kem }))],
    [
      'with its encryption key and the key signature of the machine',
      () => cardOf({ ...stolen({ kem: attacker.kem }), keySignature: machine.keySignature }),
    ],
    [
      'with its own name for the machine, signed by it',
      () => cardOf({ ...stolen({}), keySignature: machine.keySignature }, 'forged'),
    ],
    ['with its signing key', () => cardOf({ ...attacker, kem: machine.kem })],
    [
      'with a key that nothing can be sealed to',
      () => cardOf(stolen({ kem: { ...attacker.kem, publicKey: new Uint8Array(1216) } })),
    ],
  ])('%s', async (_, card) => {
    const added = store.as(author).devices.add(card(), 'owner', { fingerprint })
    await expect(added).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await store.devices.list()).toHaveLength(1)
  })
})

test('T21: the card of the machine itself is accepted', async () => {
  await store.as(author).devices.add(formatDeviceCard(machine), 'reader', { fingerprint })
  expect((await store.devices.list()).at(-1)).toMatchObject({
    deviceId: fingerprint,
    role: 'reader',
  })
})

describe('T21: a card whose id was enrolled before by passphrase', () => {
  const passphrase = 'correct horse battery'

  test.each([
    ['with the keys of the machine', machine, /device role` changes that; if its machine has not/],
    [
      'with another encryption key, which it has signed too',
      withKem(machine, attacker.kem),
      /with another encryption key than the one given: remove it .*new identity/,
    ],
  ])('is refused, and says by whom and what to do: %s', { tags: 'slow' }, async (_, as, advice) => {
    const { store: owned, place } = await newStore({ passphrase })
    await owned.close()
    const elsewhere = { ...place, identity: as, stateDirectory: `${place.stateDirectory}-2` }
    await (await reopen(elsewhere, { passphrase })).close()
    const owner = await reopen(place)
    const adding = owner.as(author).devices.add(formatDeviceCard(machine), 'reader', {
      fingerprint,
    })
    await expect(adding).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(
        /is one of the store already: as writer, admitted by a passph/,
      ),
    })
    await expect(adding).rejects.toThrow(advice)
    await owner.close()
  })
})

/** The machine's identity as the attacker has it: it has no other key to sign with. */
function stolen({ kem = machine.kem }: Partial<Pick<Identity, 'kem'>>): Identity {
  const signing = { ...attacker.signing, publicKey: machine.signing.publicKey }
  return withKem({ ...machine, signing }, kem)
}

/** With a right checksum. */
function cardOf({ signing, kem, keySignature }: Identity, name = ''): string {
  const field = new Uint8Array(256)
  field.set(utf8(name))
  const fields = concatBytes(signing.publicKey, kem.publicKey, keySignature, field)
  const signature = sign(concatBytes(label('GLK1/device-card/v1'), fields), attacker.signing)
  const bytes = concatBytes(fields, signature)
  const check = hash256(label('GLK1/device-card-text/v1'), bytes).subarray(0, 3)
  return `GITLOCKET-DEVICE-1-${encodeBase32(concatBytes(bytes, check))}`
}
