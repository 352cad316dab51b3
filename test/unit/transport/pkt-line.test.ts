import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { encodePacket, firstBand, PacketReader, textOf } from '../../../src/transport/pkt-line.ts'
import { Endurance } from '../../../src/transport/stall.ts'
import { inChunks } from '../../support/raw-pack.ts'

async function packetsOf(text: string, chunk: number): Promise<string[]> {
  const reader = new PacketReader(inChunks(Buffer.from(text, 'latin1'), chunk))
  const packets: string[] = []
  for (;;) {
    const packet = await reader.read()
    if (packet === undefined) return packets
    packets.push(packet === 'flush' ? 'flush' : textOf(packet))
  }
}

describe('PacketReader', () => {
  test.each([1, 3, 1000])('reads lines and flushes out of chunks of %i bytes', async (chunk) => {
    const text = `0009hello00000004${Buffer.from(encodePacket('wörld')).toString('latin1')}0000`
    expect(await packetsOf(text, chunk)).toEqual(['hello', 'flush', '', 'wörld', 'flush'])
  })

  test.each([
    ['0001', 'remote_protocol'],
    ['0003', 'remote_protocol'],
    ['fff1', 'remote_protocol'],
    ['ffff', 'remote_protocol'],
    ['+009hello', 'remote_protocol'],
    ['<htm', 'remote_protocol'],
    ['000', 'remote_unreachable'],
    ['0009hell', 'remote_unreachable'],
    ['0009', 'remote_unreachable'],
  ])('refuses %j', async (text, code) => {
    await expect(packetsOf(text, 100)).rejects.toMatchObject({ code })
  })

  test('returns the bytes that it has read ahead', async () => {
    const reader = new PacketReader(inChunks(Buffer.from('0009hello rest of it'), 7))
    await reader.read()
    const parts: Uint8Array[] = []
    for await (const part of reader.rest()) parts.push(part)
    expect(Buffer.concat(parts).toString()).toBe(' rest of it')
  })
})

describe('firstBand', () => {
  const banded = (...packets: string[]): PacketReader => {
    const bytes = packets.map((packet) =>
      packet === '' ? Buffer.from('0000') : encodePacket(packet),
    )
    return new PacketReader(inChunks(Buffer.concat(bytes), 5))
  }
  const fail = (text: string): StoreError => new StoreError('push_rejected', text)

  async function read(packets: PacketReader): Promise<{ data: string; heard: string[] }> {
    const heard: string[] = []
    let data = ''
    const onText = (text: string): void => void heard.push(text)
    const endurance = new Endurance(60_000, undefined)
    const listener = { onText, fail, endurance }
    for await (const part of firstBand(packets, listener)) {
      data += textOf(part)
    }
    return { data, heard }
  }

  test('gives the first band, and tells the second', async () => {
    expect(await read(banded('\u0001ab', '\u0002working', '\u0001c', ''))).toEqual({
      data: 'abc',
      heard: ['working'],
    })
  })

  test('the third ends it', async () => {
    await expect(read(banded('\u0001ab', '\u0003broken'))).rejects.toMatchObject({
      code: 'push_rejected',
      message: 'broken',
    })
  })

  test.each([[['\u0001ab']], [['\u0004ab', '']]])('refuses %j', async (packets) => {
    await expect(read(banded(...packets))).rejects.toMatchObject({
      code: expect.stringMatching('remote_'),
    })
  })
})
