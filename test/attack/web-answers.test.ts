// T91: answers that a host makes to cost a store in RAM much, to print what it likes, or to have
// requests sent elsewhere. Each is refused in bounded memory, and the store continues.

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { request as requestByFetch } from 'isomorphic-git/http/web'
import { describe, expect, test } from 'vitest'
import { deflate } from '../../src/git/pack/pack-entry.ts'
import type { HttpClient } from '../../src/web/web.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import {
  advertisement,
  answer,
  band,
  type Fault,
  fetching,
  forever,
  nak,
  on,
  packet,
  packets,
  pushing,
  redirect,
  report,
  result,
  sendPack,
  startGitServer,
} from '../support/git-server.ts'
import { blob, blobOid, deltaOnOid, inChunks, rawPack, whole } from '../support/raw-pack.ts'
import {
  change,
  expectFaultRefused,
  openWeb,
  servedGrant,
  webAuthor,
} from '../support/web-stores.ts'

const MEBIBYTE = 2 ** 20
const upload = 'git-upload-pack-result'
const listType = { 'content-type': 'application/x-git-upload-pack-advertisement' }
const header = packets('# service=git-upload-pack\n')

/** Some runtimes hand on a body in pieces that are as small as the host sends them. */
function inPieces(size: number): HttpClient {
  return {
    async request(asked) {
      const { body = [], ...answered } = await requestByFetch(asked)
      return { ...answered, body: split(body, size) }
    },
  }
}

async function* split(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield* inChunks(chunk, size)
}

/** A pack, after a list of boundary commits. */
function sends(pack: Uint8Array, ...boundary: readonly string[]): Fault {
  return on(fetching, sendPack(pack, packets(...boundary)))
}

/** A blob of zeros, a thousandth of its size as it is sent. */
function zeros(size: number, mark: number): Uint8Array {
  const body = Buffer.alloc(size)
  body.writeUInt32BE(mark)
  return whole('blob', size, deflate(body, 1))
}

describe('T91: a list', () => {
  const lists: readonly (readonly [what: string, code: string, fault: Fault])[] = [
    [
      'of another content type',
      'remote_protocol',
      on(advertisement, answer(200, `${String(header)}0000`, { 'content-type': 'text/plain' })),
    ],
    [
      'that inflates to a thousand times its bytes',
      'remote_protocol',
      on(advertisement, (response) => {
        response.writeHead(200, { ...listType, 'content-encoding': 'gzip' })
        response.end(gzipSync(Buffer.concat([header, Buffer.alloc(64 * MEBIBYTE, 'f')])))
      }),
    ],
    ['with a page of 404', 'remote_not_found', on(advertisement, answer(404, page()))],
    ['with a page of 503', 'remote_busy', on(advertisement, answer(503, page()))],
    [
      'that redirects without end',
      'remote_unreachable',
      on(/./, (response) => {
        answer(302, '', { location: response.req.url ?? '' })(response)
      }),
    ],
  ]
  test.each(lists)('%s is refused', { tags: 'slow' }, (_, code, fault) =>
    expectFaultRefused(fault, code),
  )
})

describe('T91: a pack', () => {
  const packs: readonly (readonly [what: string, pack: () => Uint8Array])[] = [
    ['of four billion objects', () => rawPack([blob('one')], 2 ** 32 - 1)],
    ['of more objects than the RAM may hold', () => rawPack([blob('one')], 2 ** 21 + 1)],
    ['of a blob that declares 4 GiB', () => rawPack([whole('blob', 2 ** 32, deflate(one, 1))])],
    ['of a blob that inflates to more', () => rawPack([whole('blob', 1, deflate(one, 1))])],
    ['of a blob that inflates to less', () => rawPack([whole('blob', 99, deflate(one, 1))])],
    ['of blobs that inflate to 320 MiB', () => rawPack(times(20, (n) => zeros(16 * MEBIBYTE, n)))],
    ['of a delta that declares 2 GiB', () => rawPack([blob('base'), bigDelta])],
    ['of a delta on nothing', () => rawPack([deltaOnOid(one, 'e'.repeat(40))])],
    ['that goes on after its end', () => Buffer.concat([rawPack([blob('one')]), one])],
    ['that ends early', () => rawPack([blob('one')]).subarray(0, -9)],
  ]
  test.each(packs)('%s is refused', { tags: 'slow' }, (_, pack) =>
    expectFaultRefused(sends(pack()), 'pack_refused'),
  )

  test('in packets of one byte takes no more than its bytes', { tags: 'slow' }, async () => {
    const world = await servedGrant()
    const store = await openWeb(world, { http: inPieces(6) })
    await change(world)
    const start = rawPack([]).subarray(0, 12)
    const bytes = Array.from(Buffer.concat([start, Buffer.alloc(40_000)]), (byte) =>
      band(1, Uint8Array.of(byte)),
    )
    world.server.fault = on(fetching, result('git-upload-pack', '0000', nak, ...bytes, '0000'))
    let most = 0
    const looking = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers)
    }, 5)
    const before = process.memoryUsage().arrayBuffers
    const failure = await failureOf(store.sync())
    clearInterval(looking)
    expect(failure).toMatchObject({ code: 'pack_refused' })
    // A buffer of 64 KiB for each packet would be 2.5 GiB.
    expect(most - before).toBeLessThan(500 * MEBIBYTE)
    await store.close()
  })
})

test('T91: a list in 200,000 pieces is refused', { tags: 'slow' }, () =>
  expectFaultRefused(
    on(advertisement, answer(200, 'x'.repeat(200_000), listType)),
    'remote_protocol',
    {
      http: inPieces(1),
    },
  ),
)

describe('T91: a history that is said to end', () => {
  const unknown = 'b'.repeat(40)
  test.each<readonly [what: string, code: string, boundary: readonly string[]]>([
    ['at a commit that is nowhere', 'pack_refused', [`shallow ${unknown}\n`]],
    ['at a commit that was not asked about', 'remote_protocol', [`unshallow ${unknown}\n`]],
    [
      'at 5,000 commits',
      'remote_protocol',
      times(5000, (n) => `shallow ${n.toString(16).padStart(40, '0')}\n`),
    ],
  ])('%s is refused', { tags: 'slow' }, (_, code, boundary) =>
    expectFaultRefused(sends(rawPack([blob('one')]), ...boundary), code),
  )
})

describe('T91: byte by byte, without end,', () => {
  test.each<readonly [what: string, fault: Fault]>([
    ['a list', on(advertisement, forever('git-upload-pack-advertisement', [], 'x', 10))],
    ['a long packet', on(fetching, forever(upload, ['0000', nak, 'fff0\u0001PACK'], '.', 10))],
    ['a page', on(advertisement, dripping(500))],
  ])('%s ends', { tags: 'slow' }, (_, fault) => expectFaultRefused(fault, 'remote_timeout'))
})

describe('T91: a message', () => {
  const escapes = 'no \u001B]0;title\u0007\u001B[31mred\u0000\u202Eder\u2028\r\nGLKG1-ABC'
  test.each<readonly [what: string, fault: Fault]>([
    ['in place of the list', on(advertisement, answer(403, escapes))],
    ['in the list', on(/^GET .*git-upload-pack/, listing(packet(`ERR ${escapes}`)))],
    ['in place of the pack', on(fetching, result('git-upload-pack', packet(`ERR ${escapes}`)))],
    ['in band 3', on(fetching, result('git-upload-pack', '0000', nak, band(3, escapes)))],
    ['in the report', on(pushing, report('unpack ok\n', `ng refs/heads/main ${escapes}\n`))],
    ['of a push in band 3', on(pushing, result('git-receive-pack', band(3, escapes)))],
  ])('%s is shown without escapes', { tags: 'slow' }, async (_, fault) => {
    const world = await servedGrant()
    const store = await openWeb(world)
    await change(world)
    world.server.fault = fault
    const { message } = await failureOf(store.as(webAuthor).write('/new.md', 'new'))
    expect(message).toContain('no red')
    expect(message).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
    expect(message).not.toContain('GLKG1-ABC')
    world.server.fault = undefined
    await store.sync()
    await store.close()
  })
})

test('T91: a redirected request reaches no other host', { tags: 'slow' }, async () => {
  const world = await servedGrant()
  const elsewhere = await startGitServer({ repository: world.url })
  const store = await openWeb(world)
  await change(world)
  for (const [status, request] of [
    [301, fetching],
    [307, fetching],
    [308, pushing],
    [302, pushing],
  ] as const) {
    world.server.fault = on(request, redirect(elsewhere, status))
    const failure = failureOf(store.as(webAuthor).write('/new.md', 'new'))
    expect(await failure).toMatchObject({ code: 'remote_protocol' })
  }
  expect(elsewhere.requests).toEqual([])
  world.server.fault = undefined
  await store.as(webAuthor).write('/new.md', 'new')
  await store.close()
})

const one = Buffer.from('one more byte')
/** Declares that it makes 2 GiB of `base`. */
const bigDelta = deltaOnOid(Uint8Array.of(4, 0x80, 0x80, 0x80, 0x80, 0x08), blobOid('base'))

function times<T>(count: number, make: (n: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, n) => make(n))
}

/** Longer than the part that is read. */
function page(): string {
  return `<html><body>${'<p>no such page</p>'.repeat(4000)}`
}

function listing(...parts: readonly Uint8Array[]) {
  return (response: ServerResponse): void => {
    response.writeHead(200, listType)
    response.end(Buffer.concat([header, ...parts]))
  }
}

/** An error whose page does not end. */
function dripping(status: number) {
  return (response: ServerResponse): void => {
    response.writeHead(status)
    const timer = setInterval(() => response.write('x'), 10)
    response.on('close', () => clearInterval(timer))
  }
}
