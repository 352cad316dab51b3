// FORMAT §9.2: what people read to each other to compare heads and memberships.

import { wordlist } from '@scure/bip39/wordlists/english.js'
import { fromHex, label } from './bytes.ts'
import { H } from './hash.ts'

export function headWords(storeId: string, record: string): string {
  return words(H(label('GLK1/head-words/v1'), fromHex(storeId), fromHex(record)), 12)
}

/** `record` is the hash of the newest keyring record. */
export function keyringWords(storeId: string, record: string): string {
  return words(H(label('GLK1/keyring-words/v1'), fromHex(storeId), fromHex(record)), 10)
}

/** 11 bits each, the most significant first. */
function words(hash: Uint8Array, count: number): string {
  const bits = [...hash].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const list = Array.from({ length: count }, (_, index) => {
    return wordlist[Number.parseInt(bits.slice(11 * index, 11 * index + 11), 2)] ?? ''
  })
  return list.join(' ')
}
