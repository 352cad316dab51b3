// A record that breaks a rule is never signed: it would make the store unreadable.

import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { zeroHash, zeroId } from '../../../src/format/record.ts'
import { generateIdentity } from '../../../src/index.ts'
import { signNext } from '../../../src/store/commits/new-record.ts'
import { standardClones } from '../../support/forged-clones.ts'
import { MergeWorld } from '../../support/merge-world.ts'

test('a redaction that names a version twice is refused before it is signed', async () => {
  const world = await MergeWorld.create((await standardClones('new records'))())
  const [clone] = world.clones
  if (clone === undefined) expect.fail('there are clones')
  const { signing, deviceId } = await generateIdentity()
  const [epoch] = world.epochs.values()
  if (epoch === undefined) expect.fail('there is an epoch')
  const signer = { deviceId, pair: signing, sequence: 1, previous: zeroHash }
  const { storeId } = world
  const context = { storeId, epoch, signer, time: 0, random: systemRandom }
  const row = (versionId: string) => {
    const nothing = { secondBase: zeroId, operation: undefined, commitment: zeroHash }
    return { memoryId: 'a'.repeat(32), base: versionId.repeat(32), ...nothing }
  }
  const fields = { kind: 'redact', reason: 'legal', actor: { type: 'api', id: 'me' } } as const
  const sign = (...versionIds: readonly string[]) =>
    signNext(context, clone.snapshot, { ...fields, rows: versionIds.map(row) })
  expect(sign('1', '2').record.rows).toHaveLength(2)
  const refused = expect.objectContaining({ code: 'record_rows' })
  expect(() => sign('1', '1')).toThrow(refused)
  expect(() => sign('2', '1')).toThrow(refused)
})
