// Words for people to compare by voice (FORMAT §9.2): those of a head, which differ where a remote
// shows different histories to different members, and those of the membership, which stay the
// same until the keyring changes.

import { wordlist } from '@scure/bip39/wordlists/english.js'
import { fromHex, label } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { assert } from '../errors.ts'
import { Bytes } from '../platform/bytes.ts'

const HEAD_LABEL = label('GLK1/head-words/v1')
const KEYRING_LABEL = label('GLK1/keyring-words/v1')
const BITS_PER_WORD = 11n

/**
 * Twelve words, 132 bits. A member who works with the host chooses both heads, so that two with the
 * same words take about 2^66 records.
 */
export function headFingerprint(storeId: string, record: Uint8Array): readonly string[] {
  return wordsOf(hash256(HEAD_LABEL, fromHex(storeId), record), 12)
}

/** Ten words, 110 bits. `record` is the hash of the newest keyring record. */
export function keyringFingerprint(storeId: string, record: Uint8Array): readonly string[] {
  return wordsOf(hash256(KEYRING_LABEL, fromHex(storeId), record), 10)
}

function wordsOf(hash: Uint8Array, count: number): readonly string[] {
  const bits = BigInt(`0x${Bytes.from(hash).toString('hex')}`)
  return Array.from({ length: count }, (_, index) => {
    const shift = 256n - BITS_PER_WORD * BigInt(index + 1)
    const word = wordlist[Number((bits >> shift) & 0x7ffn)]
    assert(word !== undefined, 'the list has 2,048 words')
    return word
  })
}
