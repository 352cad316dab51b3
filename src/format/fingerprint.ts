// The fingerprint of a head as words, which users compare by voice: a remote that shows different
// histories to different members causes different words (FORMAT §9).

import { wordlist } from '@scure/bip39/wordlists/english.js'
import { fromHex, label } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { assert } from '../errors.ts'

const HEAD_LABEL = label('GLK1/head-words/v1')
const WORDS = 10
const BITS_PER_WORD = 11n

/** Ten words of the BIP-39 English list: 110 bits of the hash of store id and record hash. */
export function headFingerprint(storeId: string, record: Uint8Array): readonly string[] {
  const hash = hash256(HEAD_LABEL, fromHex(storeId), record)
  const bits = BigInt(`0x${Buffer.from(hash).toString('hex')}`)
  return Array.from({ length: WORDS }, (_, index) => {
    const shift = 256n - BITS_PER_WORD * BigInt(index + 1)
    const word = wordlist[Number((bits >> shift) & 0x7ffn)]
    assert(word !== undefined, 'the list has 2,048 words')
    return word
  })
}
