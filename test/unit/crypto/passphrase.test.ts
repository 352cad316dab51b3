// Argon2id in a worker thread, against an independent implementation, and its bounds.

import { argon2id } from '@noble/hashes/argon2.js'
import { describe, expect, test } from 'vitest'
import { toHex, utf8 } from '../../../src/bytes.ts'
import { stretchPassphrase } from '../../../src/crypto/passphrase.ts'
import { argon2 } from '../../../src/limits.ts'

const salt = Uint8Array.from({ length: 16 }, (_, index) => index)
const floor = { passes: argon2.passes.floor, memoryKiB: argon2.memoryKiB.floor }

test(
  'the weakest allowed parameters give the key of the reference implementation',
  { tags: 'slow' },
  async () => {
    const composed = 'caf\u00e9 au lait'
    const key = await stretchPassphrase({ passphrase: composed, salt, ...floor })
    const expected = argon2id(utf8(composed), salt, {
      t: floor.passes,
      m: floor.memoryKiB,
      p: 1,
      dkLen: 32,
    })
    expect(toHex(key)).toBe(toHex(expected))
  },
)

test(
  'a passphrase typed with combining characters is the same passphrase',
  { tags: 'slow' },
  async () => {
    const [composed, combining] = await Promise.all(
      ['caf\u00e9', 'cafe\u0301'].map((passphrase) =>
        stretchPassphrase({ passphrase, salt, ...floor }),
      ),
    )
    expect(composed).toEqual(combining)
  },
)

describe('refused with weak_key_parameters:', () => {
  test.each([
    ['too few passes', { ...floor, passes: 1 }],
    ['too many passes', { ...floor, passes: 11 }],
    ['passes without end', { ...floor, passes: 2 ** 32 - 1 }],
    ['half a pass', { ...floor, passes: 2.5 }],
    ['no number', { ...floor, passes: Number.NaN }],
    ['too little memory', { ...floor, memoryKiB: argon2.memoryKiB.floor - 1 }],
    ['too much memory', { ...floor, memoryKiB: argon2.memoryKiB.ceiling + 1 }],
    ['no memory', { ...floor, memoryKiB: 0 }],
  ])('%s', async (_, parameters) => {
    await expect(
      stretchPassphrase({ passphrase: 'a passphrase', salt, ...parameters }),
    ).rejects.toMatchObject({ code: 'weak_key_parameters' })
  })
})
