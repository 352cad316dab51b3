// The list of refs that a remote begins with, byte by byte and as a whole.

import { describe, expect, test } from 'vitest'
import { encodePacket, PacketReader } from '../../../src/transport/pkt-line.ts'
import { readRefs, skipHeader } from '../../../src/transport/wire.ts'
import { inChunks } from '../../support/raw-pack.ts'

const one = '1'.repeat(40)
const other = '2'.repeat(40)

function reader(lines: readonly string[], chunk = 1000): PacketReader {
  const packets = lines.map((line) => (line === '' ? Buffer.from('0000') : encodePacket(line)))
  return new PacketReader(inChunks(Buffer.concat(packets), chunk))
}

describe('a list of refs', () => {
  const whole = [
    `${other} HEAD\0side-band-64k ofs-delta symref=HEAD:refs/heads/main\n`,
    `${one} refs/heads/main\n`,
    `${other} refs/heads/other\n`,
    `${other} refs/tags/v1\n`,
    `${one} refs/tags/v1^{}\n`,
    `${other} .have\n`,
    '',
  ]
  const found = { head: one, others: 2 }

  test.each([1, 3, 1000])('is read from chunks of %i bytes', async (chunk) => {
    const refs = await readRefs(reader(whole, chunk), [])
    expect(refs).toMatchObject(found)
    expect([...(refs?.capabilities ?? [])]).toContain('side-band-64k')
  })

  test('may announce version 1', async () => {
    expect(await readRefs(reader(['version 1', ...whole]), [])).toMatchObject(found)
  })

  test('of an empty repository has capabilities alone, or nothing', async () => {
    const empty = `${'0'.repeat(40)} capabilities^{}\0report-status no-thin`
    const refs = await readRefs(reader([empty, '']), [])
    expect(refs).toEqual({
      head: undefined,
      others: 0,
      named: new Map(),
      ignored: new Map(),
      capabilities: new Set(['report-status', 'no-thin']),
    })
    expect(await readRefs(reader(['']), [])).toMatchObject({ head: undefined, others: 0 })
  })

  test('without an end is refused', async () => {
    expect(await readRefs(reader(whole.slice(0, -1)), [])).toBeUndefined()
    expect(await readRefs(reader([]), [])).toBeUndefined()
  })

  test.each([
    ['no capabilities', [`${one} refs/heads/main`, ''], /damaged/],
    ['a short id', [`${one.slice(1)} refs/heads/main\0`, ''], /damaged/],
    ['version 2', ['version 2', 'ls-refs', ''], /another protocol version/],
    ['other objects', [`${one} HEAD\0object-format=sha256`, ''], /SHA-1/],
    ['an error', ['ERR no, secret'], /says no, \*\*\*$/],
  ])('with %s is refused', async (_, lines, message) => {
    await expect(readRefs(reader(lines), ['secret'])).rejects.toMatchObject({
      code: 'remote_protocol',
      message: expect.stringMatching(message),
    })
  })

  test('of a shallow clone is refused as that', async () => {
    const lines = [`${one} HEAD\0`, `shallow ${one}`, '']
    await expect(readRefs(reader(lines), [])).rejects.toMatchObject({ code: 'remote_shallow' })
  })
})

describe('a list with more refs than are kept', () => {
  const baseline = (n: number): string =>
    `refs/gitlocket/baseline/${n.toString(16).padStart(32, '0')}`
  const junk = Array.from({ length: 4100 }, (_, n) => baseline(n + 1))
  const branches = Array.from({ length: 12_000 }, (_, n) => `refs/heads/junk-${n}`)
  const wraps = `refs/gitlocket/wraps/${'f'.repeat(32)}`
  const listOf = (names: readonly string[]): readonly string[] => {
    return [`${other} HEAD\0shallow`, ...names.map((name) => `${one} ${name}`), '']
  }
  const orders: readonly (readonly [string, (names: readonly string[]) => readonly string[]])[] = [
    ['sorted', (names) => names],
    ['reversed', (names) => names.toReversed()],
    ['mixed', (names) => names.toSorted((a, b) => (a.at(-1) ?? '').localeCompare(b.at(-1) ?? ''))],
  ]

  test.each(orders)('keeps the first of each kind, and the branch: %s', async (_, order) => {
    const names = order([...branches, ...junk, wraps, 'refs/heads/main'])
    const refs = await readRefs(reader(listOf(names), 65_536), [])
    expect(refs).toMatchObject({ head: one, others: 16_101 })
    expect([...(refs?.named.keys() ?? [])]).toEqual([...junk.slice(0, 1024), wraps])
    expect(refs?.ignored).toEqual(
      new Map([
        ['refs/gitlocket/baseline/', 3076],
        ['', 12_000],
      ]),
    )
  })

  test.each(orders)('keeps those that were asked for by name: %s', async (_, order) => {
    const own = 'f'.repeat(32)
    const mine = [`refs/gitlocket/baseline/${own}`, wraps, `refs/tags/gitlocket-baseline-${own}`]
    const refs = await readRefs(reader(listOf(order([...junk, ...mine])), 65_536), [], [own])
    expect([...(refs?.named.keys() ?? [])]).toEqual([...junk.slice(0, 1024), ...mine])
  })

  test('passes over a name of 4 kB', async () => {
    const long = `refs/gitlocket/baseline/${'0'.repeat(4000)}`
    const refs = await readRefs(reader(listOf([long, 'refs/heads/main'])), [])
    expect(refs).toMatchObject({ head: one, others: 1, named: new Map(), ignored: new Map() })
  })

  test('counts nothing as ignored up to the bound', async () => {
    const names = [...branches.slice(0, 1024), ...junk.slice(0, 1024)]
    expect((await readRefs(reader(listOf(names), 65_536), []))?.ignored).toEqual(new Map())
  })

  test.each([
    ['among those kept', [baseline(1), baseline(1)]],
    ['among those asked for', [wraps, wraps]],
  ])('is refused if it names one twice, %s', async (_, names) => {
    const refused = readRefs(reader(listOf(names)), [], ['f'.repeat(32)])
    await expect(refused).rejects.toMatchObject({ code: 'remote_protocol' })
  })

  test('ends with an error at 32 MiB', async () => {
    const line = `${one} refs/heads/${'x'.repeat(60_000)}`
    const lines = [`${one} refs/heads/main\0`, ...Array<string>(600).fill(line), '']
    await expect(readRefs(reader(lines, 1 << 20), [])).rejects.toMatchObject({
      code: 'remote_protocol',
      message: expect.stringContaining('32 MiB'),
    })
  })
})

describe('the header of http', () => {
  const header = '# service=git-upload-pack\n'

  test('comes before the list', async () => {
    const packets = reader([header, '', `${one} refs/heads/main\0`, ''])
    await skipHeader(packets, 'git-upload-pack')
    expect(await readRefs(packets, [])).toMatchObject({ head: one })
  })

  test.each([
    ['nothing', []],
    ['another service', ['# service=git-receive-pack', '']],
    ['no end of it', [header, `${one} refs/heads/main\0`, '']],
    ['version 2', ['version 2', '']],
  ])('%s is refused', async (_, lines) => {
    await expect(skipHeader(reader(lines), 'git-upload-pack')).rejects.toMatchObject({
      code: 'remote_protocol',
    })
  })
})
