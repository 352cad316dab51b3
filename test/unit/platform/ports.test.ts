import { randomBytes } from 'node:crypto'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import * as nodeSodium from '../../../src/crypto/sodium.ts'
import * as nodeBytes from '../../../src/platform/bytes.ts'
import * as nodeCrypto from '../../../src/platform/crypto.ts'
import * as nodePaths from '../../../src/platform/paths.ts'
import * as nodeThreads from '../../../src/platform/threads.ts'
import * as nodeTimers from '../../../src/platform/timers.ts'
import * as nodeZlib from '../../../src/platform/zlib.ts'
import * as webBytes from '../../../src/web/platform/bytes.ts'
import * as webCrypto from '../../../src/web/platform/crypto.ts'
import * as webPaths from '../../../src/web/platform/paths.ts'
import * as webSodium from '../../../src/web/platform/sodium.ts'
import * as webThreads from '../../../src/web/platform/threads.ts'
import * as webTimers from '../../../src/web/platform/timers.ts'
import * as webZlib from '../../../src/web/platform/zlib.ts'

// The types agree, and the names. Worker is a class of Node's own, which the web only names.
webBytes satisfies typeof nodeBytes
webCrypto satisfies typeof nodeCrypto
webPaths satisfies typeof nodePaths
webSodium satisfies typeof nodeSodium
webTimers satisfies typeof nodeTimers
webZlib satisfies typeof nodeZlib

const Node = nodeBytes.Bytes
const Web = webBytes.Bytes

describe('each port of the web', () => {
  test.each([
    [nodeBytes, webBytes],
    [nodeCrypto, webCrypto],
    [nodePaths, webPaths],
    [nodeThreads, webThreads],
    [nodeTimers, webTimers],
    [nodeZlib, webZlib],
  ])('exports the names of its counterpart', (node, web) => {
    expect(Object.keys(web).toSorted()).toEqual(Object.keys(node).toSorted())
  })

  test('exports the functions of libsodium, and its start', () => {
    expect(Object.keys(webSodium).toSorted()).toEqual(
      [...Object.keys(nodeSodium), 'startSodium'].toSorted(),
    )
    const names = Object.keys(webSodium.sodium)
    expect(Object.keys(nodeSodium.sodium)).toEqual(expect.arrayContaining(names))
  })
})

describe('bytes of the web', () => {
  const texts = [
    '',
    'a',
    'äöü€😀',
    '\u{feff}x',
    'Zm9vYmFy',
    'Zm9=vYg==',
    '-_-_',
    'ab c\n',
    'ABCDEF0',
  ]
  const encodings = ['utf8', 'latin1', 'hex', 'base64', 'base64url'] as const

  test.each(encodings)('encode and decode %s as Node does', (encoding) => {
    for (const text of [...texts, 'x'.repeat(20_000), 'ab12'.repeat(9000)]) {
      expect(new Uint8Array(Web.from(text, encoding))).toEqual(
        new Uint8Array(Node.from(text, encoding)),
      )
    }
    for (const length of [0, 1, 2, 3, 64, 8193, 30_000]) {
      const bytes = new Uint8Array(randomBytes(length))
      expect(Web.from(bytes).toString(encoding)).toBe(Node.from(bytes).toString(encoding))
    }
  })

  test('write, copy, compare and search as Node does', () => {
    const actions = [
      (bytes: nodeBytes.Bytes) => bytes.write('abc', 'latin1'),
      (bytes: nodeBytes.Bytes) => bytes.write('äöü', 18),
      (bytes: nodeBytes.Bytes) => bytes.write('00ff', 17, 'hex'),
      (bytes: nodeBytes.Bytes) => bytes.write('00ffff', 1, 2, 'hex'),
      (bytes: nodeBytes.Bytes) => bytes.copy(bytes, 10, 0, 5),
      (bytes: nodeBytes.Bytes) => bytes.copy(bytes, 15, 0, 9),
      (bytes: nodeBytes.Bytes) => bytes.compare(bytes, 0, 4, 2, 6),
      (bytes: nodeBytes.Bytes) => bytes.compare(bytes, 0, 3, 0, 4),
      (bytes: nodeBytes.Bytes) => bytes.includes('abc'),
      (bytes: nodeBytes.Bytes) => bytes.includes(255),
      (bytes: nodeBytes.Bytes) => bytes.toString('hex', 2, 9),
      (bytes: nodeBytes.Bytes) => [...bytes.subarray(3, -2)],
      (bytes: nodeBytes.Bytes) => bytes.subarray(2, 6).toString('hex'),
      (bytes: nodeBytes.Bytes) => [bytes.readUInt32BE(1), bytes.readUInt32LE(1)],
      (bytes: nodeBytes.Bytes) => [
        bytes.readUInt16BE(1),
        bytes.readUInt16LE(1),
        bytes.readUInt8(2),
      ],
      (bytes: nodeBytes.Bytes) => [bytes.readUIntBE(0, 5), bytes.readBigUInt64BE(3)],
      (bytes: nodeBytes.Bytes) => [bytes.writeUInt32BE(4e9, 1), bytes.writeUInt32LE(7, 9)],
      (bytes: nodeBytes.Bytes) => [bytes.writeUInt16BE(65535, 1), bytes.writeUInt16LE(7, 9)],
      (bytes: nodeBytes.Bytes) => [bytes.writeUInt8(255, 1), bytes.writeBigUInt64BE(2n ** 60n, 2)],
    ]
    const seed = new Uint8Array(randomBytes(20))
    const node = Node.from(seed)
    const web = Web.from(seed)
    for (const action of actions) {
      expect(action(web)).toEqual(action(node))
      expect(new Uint8Array(web)).toEqual(new Uint8Array(node))
    }
    expect(() => web.readUInt32BE(18)).toThrow(RangeError)
  })

  test('views share memory, and copies do not', () => {
    const bytes = new Uint8Array(8)
    Web.from(bytes.buffer, 2, 4).fill(7)
    Web.from(bytes).fill(1)
    expect([...bytes]).toEqual([0, 0, 7, 7, 7, 7, 0, 0])
    const joined = Web.concat([bytes.subarray(2, 3), Web.from('a')])
    expect(joined.toString('hex')).toBe('0761')
    expect(Web.byteLength('äx😀')).toBe(7)
    expect(Web.compare(bytes, bytes.subarray(0, 3))).toBe(1)
  })
})

describe('hashes of the web', () => {
  test.each(['sha1', 'sha256', 'sha512'] as const)('%s as Node does', (name) => {
    for (const length of [0, 1, 55, 56, 64, 111, 128, 5000]) {
      const bytes = randomBytes(length)
      expect(webCrypto.hexDigestOf(name, bytes)).toBe(nodeCrypto.hexDigestOf(name, bytes))
      expect([...webCrypto.digestOf(name, bytes)]).toEqual([...nodeCrypto.digestOf(name, bytes)])
      const running = webCrypto.startHash(name).update('ä').update(bytes)
      const other = nodeCrypto.startHash(name).update('ä').update(bytes)
      expect(running.digest('hex')).toBe(other.digest('hex'))
    }
    expect(webCrypto.randomBytes(70_000).some((byte) => byte !== 0)).toBe(true)
  })
})

describe('zlib of the web', () => {
  const bodies = [0, 1, 100, 70_000, 200_000].map((length) => [
    new Uint8Array(randomBytes(length)),
    new Uint8Array(length).fill(9),
  ])

  test.each(bodies.flat())('inflates a stream and reports its length', (body) => {
    const { deflateBytes }: typeof nodeZlib = webZlib
    for (const level of [0, 1] as const) {
      const deflated = deflateBytes(body, level, body.length + 2000)
      expect(new Uint8Array(nodeZlib.inflateBytes(deflated, body.length + 1))).toEqual(body)
    }
    const deflated = new Uint8Array(deflateSync(body))
    const followed = new Uint8Array([...deflated, 1, 2, 3])
    const found = webZlib.inflateStart(followed, body.length)
    expect(found?.length).toBe(deflated.length)
    expect(new Uint8Array(found?.body ?? [1, 2, 3])).toEqual(body)
    expect(webZlib.inflateStart(deflated.subarray(0, -1), body.length)).toBeUndefined()
    expect(webZlib.crc32(body)).toBe(nodeZlib.crc32(body))
    // Node forgets the earlier checksum if no bytes follow.
    if (body.length > 0) expect(webZlib.crc32(body, 5)).toBe(nodeZlib.crc32(body, 5))
  })

  test('refuses a stream that is larger, damaged or of another format', () => {
    const body = new Uint8Array(100_000)
    const damaged = new Uint8Array(deflateSync(randomBytes(100)))
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
    for (const zlib of [nodeZlib, webZlib]) {
      expect(() => zlib.inflateStart(deflateSync(body), 99_999)).toThrow(/./)
      expect(() => zlib.inflateStart(damaged, 100)).toThrow(/./)
      expect(() => zlib.inflateStart(gzipSync(body), body.length)).toThrow(/./)
      expect(() => zlib.inflateStart(deflateRawSync(body), body.length)).toThrow(/./)
      expect(zlib.inflateStart(new Uint8Array(0), 10)).toBeUndefined()
    }
  })
})
