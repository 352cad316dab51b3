// The known answers of the ports: bytes, texts, deflate, names of files, randomness and timers.

import { fromHex, toHex, utf8, utf8Text } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { Bytes } from '../../../src/platform/bytes.ts'
import { randomBytes } from '../../../src/platform/crypto.ts'
import { basename, dirname, resolve } from '../../../src/platform/paths.ts'
import { afterOthers, sleep } from '../../../src/platform/timers.ts'
import { crc32, deflateBytes, inflateBytes, inflateStart } from '../../../src/platform/zlib.ts'
import { type AnswerRow, ascending, within } from './rows.ts'

const place = (): Bytes => Bytes.from(new Uint8Array(8).fill(0xee))
const written = (write: (bytes: Bytes) => number): string => {
  const bytes = place()
  return `${write(bytes)} ${bytes.toString('hex')}`
}

const numbers: readonly AnswerRow[] = [
  ['an integer of 16 bits', '4 eeee1234eeeeeeee', () => written((b) => b.writeUInt16BE(0x1234, 2))],
  ['one that ends first', '4 eeee3412eeeeeeee', () => written((b) => b.writeUInt16LE(0x1234, 2))],
  ['32 bits', '4 fffffffeeeeeeeee', () => written((b) => b.writeUInt32BE(0xffff_fffe))],
  ['64 bits', '8 fffffffffffffffe', () => written((b) => b.writeBigUInt64BE(2n ** 64n - 2n))],
  ['six bytes', String(0x0102_0304_0506), () => Bytes.from(ascending(8)).readUIntBE(1, 6)],
  ['8 bits are too few', 'refused', () => place().writeUInt8(256)],
  ['16 bits are too few', 'refused', () => place().writeUInt16BE(65_536)],
  ['16 bits are too few, from the end', 'refused', () => place().writeUInt16LE(65_536)],
  ['32 bits are too few', 'refused', () => place().writeUInt32BE(2 ** 32)],
  ['32 bits are too few, from the end', 'refused', () => place().writeUInt32LE(2 ** 32)],
  ['64 bits are too few', 'refused', () => place().writeBigUInt64BE(2n ** 64n)],
  ['a negative number', 'refused', () => place().writeUInt32BE(-1)],
  ['a number behind the end', 'refused', () => place().writeUInt32BE(1, 5)],
  ['reading behind the end', 'refused', () => place().readUInt32BE(5)],
  ['reading behind the end of a view', 'refused', () => place().subarray(0, 4).readUInt16BE(3)],
  [
    'a view moves with its bytes',
    '02',
    () => {
      const bytes = Bytes.alloc(4)
      const view = bytes.subarray(1, 2)
      bytes.writeUInt8(2, 1)
      return view
    },
  ],
  [
    'compared',
    '-1 0 1 -1',
    () => {
      const [a, b] = [Bytes.from('0001ff', 'hex'), Bytes.from('0002', 'hex')]
      return [Bytes.compare(a, b), a.compare(a), b.compare(a), b.compare(b, 0, 2, 0, 1)].join(' ')
    },
  ],
]

/** What UTF-8 may not be. Each becomes this many U+FFFD where text may be damaged. */
const notUtf8 = [
  ['80', 1],
  ['c0af', 2],
  ['e080af', 3],
  ['eda080', 3],
  ['f08080af', 4],
  ['f4908080', 4],
  ['fe', 1],
  ['c3', 1],
  ['e282', 1],
  ['f09f98', 1],
  ['e28241', 1],
] as const

const texts: readonly AnswerRow[] = [
  ...notUtf8.flatMap(([hex, count]): AnswerRow[] => [
    [`${hex} is no UTF-8`, 'refused', () => utf8Text(fromHex(hex))],
    [
      `${hex} is shown as damaged`,
      `${count}`,
      () => {
        return Bytes.from(hex, 'hex').toString().split('\ufffd').length - 1
      },
    ],
  ]),
  ['the last character', 'f48fbfbf', () => Bytes.from('\u{10ffff}')],
  ['a byte order mark is kept', 'efbbbf78', () => utf8(utf8Text(fromHex('efbbbf78')))],
  [
    'a byte order mark is kept in bytes',
    '2',
    () => Bytes.from('efbbbf78', 'hex').toString().length,
  ],
  ['halves of characters', 'efbfbd61efbfbd', () => Bytes.from('\udc00a\ud800')],
  ['their length', '7', () => Bytes.byteLength('\udc00a\ud800')],
  ['no part of a character', '3 eeeeeeeec3a461ee', () => written((b) => b.write('äa', 4))],
  ['no half of a character', '2 eeeeeec3a4eeeeee', () => written((b) => b.write('ä😀', 3, 5))],
  ['latin1', 'e4ff2c', () => Bytes.from('äÿ€', 'latin1').fill(0x2c, 2)],
  ['hex ends at another character', 'ab', () => Bytes.from('abcx12', 'hex')],
  ['base64', '666f6f62', () => Bytes.from('Zm9v\nYg==', 'base64')],
  ['base64url', '-_8', () => Bytes.from('fbff', 'hex').toString('base64url')],
  [
    'a part of them',
    'true false',
    () => {
      const bytes = Bytes.from('naïve')
      return `${bytes.includes('ïv')} ${bytes.includes('ïv', 4)}`
    },
  ],
]

/**
 * A stream of `length` zeros, a multiple of 258 and one more, in a hundred and sixtieth of that:
 * one block with the fixed codes.
 */
function zerosDeflated(length: number): Uint8Array {
  const bytes = [0x78, 0x01]
  let [held, bits] = [0, 0]
  const put = (code: string): void => {
    for (const bit of code) {
      held |= Number(bit) << bits
      bits += 1
      if (bits < 8) continue
      bytes.push(held)
      held = 0
      bits = 0
    }
  }
  // The last block, of fixed codes, and the literal 0; 258 bytes from one before; the end.
  put('11000110000')
  for (let rest = length - 1; rest > 0; rest -= 258) put('1100010100000')
  put('0000000')
  if (bits > 0) bytes.push(held)
  const high = length % 65_521
  return Uint8Array.from([...bytes, high >>> 8, high, 0, 1])
}

/** 300 bytes in a stored block, and three from 300 before, with a window of 256. */
function farDeflated(): Uint8Array {
  const body = ascending(300)
  const stored = Uint8Array.of(...fromHex('081d002c01d3fe'), ...body)
  return Uint8Array.of(...stored, ...fromHex('038615005a958336'))
}

const zeros = (times: number): Uint8Array => zerosDeflated(258 * times + 1)
const without = (bytes: Uint8Array, count: number): Uint8Array => bytes.subarray(0, -count)
/** One block with codes of its own. */
const spoken = fromHex(
  '78daed8bbd4d436110c056f10029befbbf639b2711104512898e8e31e86898818aee2dc40888085132019d2d' +
    'd91ba7e3e9f2f8c4e58eed870fdfb2bfedeffb07dbf996cfd797e703dbfdf670befa956e7ef3fff5cf753132' +
    'b435154556121384386e8685a225c82c640dda8c179d497550cb4935c2154fc17aa133a83462452453418fd3' +
    '6294291942d4c27bf0d59816ea8964d08e31aab4cb170c61a6ce',
)
const spokenText =
  'a memory of a memory, of äöü and 😀, again and again: '.repeat(6) +
  Array.from({ length: 40 }, (_, n) => (n * 7919) % 1000).join(' ')

/** Whether bytes are the same again once they are deflated and inflated. */
const isSameAgain = (length: number): boolean => {
  const body = ascending(length, length)
  const deflated = deflateBytes(body, 0, length + 1000)
  const inflated = inflateStart(within(deflated), length)
  const isWhole = inflated?.length === deflated.length
  return isWhole && toHex(hash256(inflated.body)) === toHex(hash256(body))
}

/** How many bytes a stream takes and gives. */
const measured = (deflated: Uint8Array, size: number): string => {
  const inflated = inflateStart(deflated, size)
  return inflated === undefined ? 'more' : `${inflated.length} ${inflated.body.length}`
}

const streams: readonly AnswerRow[] = [
  ['a stream', spokenText, () => utf8Text(inflateBytes(within(spoken), 1000))],
  ['a stream and more', '158 506', () => measured(Uint8Array.of(...spoken, 1, 2), 1000)],
  [
    'no beginning of it is a stream',
    'more',
    () => {
      const found = Array.from(spoken, (_, end) => measured(spoken.subarray(0, end), 1000))
      return [...new Set(found)].join()
    },
  ],
  ['a beginning alone', 'refused', () => inflateBytes(without(spoken, 1), 1000)],
  ['no bytes', 'more', () => measured(new Uint8Array(), 10)],
  ['a stream of nothing', '8 0', () => measured(fromHex('7801030000000001'), 0)],
  ['a byte where nothing is allowed', 'refused', () => measured(zerosDeflated(1), 0)],
  [
    'zeros',
    'f2337b85181cf93a1a7f38364d26f670841639d1cb37a73e8b9737dd77004369',
    () => hash256(inflateBytes(zeros(400), 103_201)),
  ],
  ['one zero too many', 'refused', () => inflateBytes(zeros(400), 103_200)],
  ['one zero too many in a pack', 'refused', () => measured(zeros(400), 103_200)],
  ['a bomb', 'refused', () => measured(zeros(100_000), 1000)],
  ['a bomb without its end', 'refused', () => measured(without(zeros(100_000), 100), 1000)],
  ['another sum', 'refused', () => measured(fromHex('7801030000000002'), 10)],
  ['gzip', 'refused', () => measured(fromHex('1f8b080000000000000303000000000000000000'), 10)],
  ['no header', 'refused', () => measured(fromHex('0300'), 10)],
  ['another method', 'refused', () => measured(fromHex('7700030000000001'), 10)],
  ['a larger window', 'refused', () => measured(fromHex('880d030000000001'), 10)],
  ['a dictionary', 'refused', () => measured(fromHex('78bb00000001030000000001'), 10)],
  [
    'a copy from behind the window that the header names',
    '315 303',
    () => {
      return measured(farDeflated(), 400)
    },
  ],
  ['a block of no kind', 'refused', () => measured(fromHex('78010700000001'), 10)],
  ['a length twice, which differs', 'refused', () => measured(fromHex('7801010100ffff61'), 10)],
  ['a copy from before the beginning', 'refused', () => measured(fromHex('78011b0300000001'), 300)],
  ...[0, 1, 65_535, 65_536, 200_000].map((length): AnswerRow => {
    return [`${length} bytes again`, 'true', () => isSameAgain(length)]
  }),
  ['CRC-32', '3421780262', () => crc32(utf8('123456789'))],
  ['CRC-32 in parts', '3421780262', () => crc32(utf8('6789'), crc32(utf8('12345')))],
]

const others: readonly AnswerRow[] = [
  [
    'paths',
    '/a/b.md b.md /a /',
    () => {
      const path = resolve('/a/b.md')
      return [path, basename(path), dirname(path), dirname('/a')].join(' ')
    },
  ],
  [
    'random bytes',
    '70000 false',
    () => {
      const [one, other] = [randomBytes(70_000), randomBytes(70_000)]
      return `${one.length} ${toHex(one.slice(-32)) === toHex(other.slice(-32))}`
    },
  ],
  [
    'turns',
    'abc',
    async () => {
      let order = ''
      afterOthers(() => (order += 'b'))
      const last = new Promise<void>((end) => afterOthers(end))
      order += 'a'
      await last
      return `${order}c`
    },
  ],
  ['a pause', 'undefined', () => sleep(1)],
  ['a pause that ends early', 'refused', () => sleep(3_600_000, AbortSignal.abort())],
]

export const portAnswers: readonly AnswerRow[] = [...numbers, ...texts, ...streams, ...others]
