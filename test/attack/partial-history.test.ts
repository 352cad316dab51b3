// T84: a host that sends a part of the history, or changes refs of grants. It can neither have a
// commit counted as the end of the history that is not, nor cost more than a bounded number of
// lines, nor have a ref taken for changed that is not; its messages are shown without escapes.
// FORMAT §8.3, §13.

import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  createDiskObjectStore,
  type DiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { FetchRequest, PushRequest, RefusedRef } from '../../src/transport/remote-access.ts'
import { environment, head, sharedRemotes } from '../support/faulty-remotes.ts'
import {
  advertisement,
  cut,
  type Fault,
  fetching,
  forever,
  on,
  packet,
  packets,
  pushing,
  report,
  type SeenRequest,
  sendPack,
  startGitServer,
} from '../support/git-server.ts'
import { packOf } from '../support/hostile-remotes.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { fetchPack, listRemote, pushPack } from '../support/transfer.ts'

const remotes = sharedRemotes()
const flush = '0000'
const [a, b] = ['a'.repeat(40), 'b'.repeat(40)] as const
const start = `refs/gitlocket/baseline/${'1'.repeat(32)}`
const wraps = `refs/gitlocket/wraps/${'2'.repeat(32)}`

interface Attempt {
  readonly store: DiskObjectStore
  readonly requests: readonly SeenRequest[]
  readonly outcome: Promise<unknown>
}

/** A fetch of one commit, of which a store without any ends at `a` so far. */
async function fetchFrom(fault: Fault | undefined, how?: Partial<FetchRequest>): Promise<Attempt> {
  const server = await startGitServer({ repository: remotes.repository, ...(fault && { fault }) })
  const directory = join(temporaryDirectory(), 's')
  const store = await createDiskObjectStore({ directory, mayBeShallow: true })
  await store.exchange.setShallow([a])
  const request = { want: head, haves: [], deepen: 1, shallow: [a], ...how }
  const access = { url: server.url, environment }
  const outcome = fetchPack(access, { ...request, into: store.exchange })
  return { store, requests: server.requests, outcome }
}

async function expectNothing({ store }: Attempt): Promise<void> {
  expect(store.exchange.shallow()).toEqual([a])
  expect([...store.objectIds()]).toEqual([])
  await store.close()
}

/** The lines about the end of the history, then a whole and honest pack. */
function saying(...lines: readonly (Uint8Array | string)[]): Fault {
  return on(fetching, (response) => {
    const oids = git(['rev-list', '--objects', '--no-object-names', 'main'], remotes.repository)
    const pack = packOf(remotes.repository, oids.trim().split('\n'))
    sendPack(pack, packets(...lines))(response)
  })
}

function many(count: number, word = 'shallow'): readonly string[] {
  return Array.from({ length: count }, (_, number) => {
    return `${word} ${number.toString(16).padStart(40, '0')}\n`
  })
}

describe('T84: a host that lies about the end of the history', () => {
  test.each<readonly [what: string, message: RegExp, lines: readonly (Uint8Array | string)[]]>([
    ['has no end of lines', /more than 4096 commits/, many(4097)],
    ['names 100,000 commits', /more than 4096 commits/, many(100_000)],
    ['repeats one without end', /more than 4096 commits/, Array(8193).fill(`shallow ${b}\n`)],
    ['sends parents of another commit', /not asked for/, [`unshallow ${b}\n`]],
    ['takes a line back', /contradicts itself/, [`unshallow ${a}\n`, `shallow ${a}\n`]],
    ['takes a line back first', /contradicts itself/, [`shallow ${a}\n`, `unshallow ${a}\n`]],
    ['sends another word', /does not match/, [`deepen ${b}\n`]],
    ['names a branch', /does not match/, ['shallow main\n']],
    ['names half a commit', /does not match/, [`shallow ${b.slice(1)}\n`]],
    ['names more than a commit', /does not match/, [`shallow ${b}0\n`]],
    ['writes in upper case', /does not match/, [`shallow ${b.toUpperCase()}\n`]],
    ['adds an escape', /does not match/, [`shallow ${b}\u001B[2J\n`]],
    ['adds a line', /does not match/, [`shallow ${b}\nshallow ${a}\n`]],
    ['sends a NUL byte', /does not match/, [`shallow ${b}\0\n`]],
    ['acknowledges instead', /does not match/, ['NAK\n']],
  ])('that %s is refused', async (_, message, lines) => {
    const attempt = await fetchFrom(saying(...lines))
    await expect(attempt.outcome).rejects.toMatchObject({
      code: 'remote_protocol',
      message: expect.stringMatching(message),
    })
    await expectNothing(attempt)
  })

  test.each<readonly [what: string, lines: readonly string[]]>([
    ['names a commit that is nowhere', [`shallow ${b}\n`]],
    ['names the commit and no parents for another', [`shallow ${head}\n`, `unshallow ${a}\n`]],
  ])('that %s is refused with its pack', async (_, lines) => {
    const attempt = await fetchFrom(saying(...lines))
    await expect(attempt.outcome).rejects.toMatchObject({ code: 'pack_refused' })
    await expectNothing(attempt)
  })

  test.each([
    ['a commit that it lacks and does not name', (commit: string) => [commit], []],
    ['a tree', (commit: string) => [commit, `${commit}^{tree}`], ['tree']],
  ])('that ends the history at %s is refused', async (_, objectsOf, ends) => {
    const resolve = (name: string): string => {
      return git(['rev-parse', name], remotes.repository).trim()
    }
    const pack = packOf(remotes.repository, objectsOf(head).map(resolve))
    const named = packets(...ends.map(() => `shallow ${resolve(`${head}^{tree}`)}\n`))
    const attempt = await fetchFrom(on(fetching, sendPack(pack, named)))
    await expect(attempt.outcome).rejects.toMatchObject({ code: 'pack_refused' })
    await expectNothing(attempt)
  })

  test('that sends lines to a fetch of everything is refused', async () => {
    const whole = { deepen: undefined, shallow: [] }
    const attempt = await fetchFrom(saying(`shallow ${head}\n`), whole)
    await expect(attempt.outcome).rejects.toMatchObject({ code: 'remote_protocol' })
    await expectNothing(attempt)
  })

  test.each<readonly [what: string, code: string, answer: (response: ServerResponse) => void]>([
    ['breaks off', 'remote_unreachable', cut(packet(`shallow ${b}\n`))],
    [
      'sends empty packets without end',
      'remote_protocol',
      forever('git-upload-pack-result', [], packet('')),
    ],
    [
      'sends lines without end',
      'remote_protocol',
      forever('git-upload-pack-result', [], packet(`shallow ${b}\n`)),
    ],
  ])('that %s is refused', async (_, code, answer) => {
    const attempt = await fetchFrom(on(fetching, answer))
    await expect(attempt.outcome).rejects.toMatchObject({ code })
    await expectNothing(attempt)
  })

  test('shows no escapes in its reason', async () => {
    const attempt = await fetchFrom(saying('ERR no \u001B]0;title\u0007\u001B[31mred'))
    await expect(attempt.outcome).rejects.toMatchObject({
      message: expect.stringMatching(/no red/),
    })
    await expectNothing(attempt)
  })

  test('is not sent an invalid depth', async () => {
    for (const deepen of [0, -1, 1.5, Number.NaN, 2 ** 31, 2 ** 53]) {
      const attempt = await fetchFrom(undefined, { deepen })
      await expect(attempt.outcome).rejects.toMatchObject({ code: 'invalid_input' })
      expect(attempt.requests.every(({ method }) => method === 'GET')).toBe(true)
      await expectNothing(attempt)
    }
  })

  test('is not asked if it cannot limit the history', async () => {
    const refs = [packet(`${head} refs/heads/main\0side-band-64k ofs-delta`), flush]
    const attempt = await fetchFrom(on(advertisement, listing('git-upload-pack', ...refs)))
    await expect(attempt.outcome).rejects.toMatchObject({
      code: 'remote_protocol',
      message: expect.stringContaining('cannot send a part of the history'),
    })
    expect(attempt.requests.every(({ method }) => method === 'GET')).toBe(true)
    await expectNothing(attempt)
  })

  test('is believed if it is honest', async () => {
    const attempt = await fetchFrom(undefined)
    expect(await attempt.outcome).toMatchObject({ shallow: [head], unshallow: [] })
    expect(attempt.store.exchange.shallow()).toEqual([a, head].toSorted())
    await attempt.store.close()
  })
})

test('a host may repeat a commit at which the history ends already', async () => {
  const attempt = await fetchFrom(saying(`shallow ${a}\n`))
  expect(await attempt.outcome).toMatchObject({ shallow: [], unshallow: [] })
  expect(attempt.store.exchange.shallow()).toEqual([a])
  await attempt.store.close()
})

function listing(service: string, ...parts: readonly (Uint8Array | string)[]) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': `application/x-${service}-advertisement` })
    for (const part of [packet(`# service=${service}\n`), flush, ...parts]) response.write(part)
    response.end()
  }
}

async function list(...refs: readonly string[]): ReturnType<typeof listRemote> {
  const lines = refs.map((ref, index) => packet(`${a} ${ref}${index === 0 ? '\0shallow' : ''}\n`))
  const fault = on(advertisement, listing('git-upload-pack', ...lines, flush))
  const { url } = await startGitServer({ repository: remotes.repository, fault })
  return listRemote({ url, environment })
}

describe('T84: a host that lists refs', () => {
  test('cannot have a ref of another form taken for one of a grant', async () => {
    const id = '3'.repeat(32)
    const { named } = await list(
      'refs/heads/main',
      start,
      `${start}^{}`,
      `${start}0`,
      start.slice(0, -1),
      `${start.slice(0, -1)}A`,
      `${start.slice(0, -1)}\u001B`,
      `refs/gitlocket/baseline/${id}/${id}`,
      `refs/gitlocket/baseline/../wraps/${id}`,
      `refs/gitlocket/ends/${id}`,
      `refs/gitlocket/baseline-${id}`,
      `refs/tags/gitlocket-baseline/${id}`,
      `refs/tags/gitlocket-wraps-${id}`,
      `xrefs/gitlocket/baseline/${id}`,
      `refs/gitlocket/baseline/ ${id}`,
    )
    expect([...named.keys()]).toEqual([start, `refs/tags/gitlocket-wraps-${id}`])
  })

  test('cannot list them without end, or twice', async () => {
    const refs = Array.from({ length: 4100 }, (_, number) => {
      return `refs/gitlocket/baseline/${number.toString(16).padStart(32, '0')}`
    })
    const { named, ignored } = await list(...refs)
    expect([...named.keys()]).toEqual(refs.slice(0, 1024))
    expect(ignored).toEqual(new Map([['refs/gitlocket/baseline/', 3076]]))
    await expect(list(start, wraps, start)).rejects.toMatchObject({ code: 'remote_protocol' })
  })
})

/** A push of a start and wraps that the host answers with these lines. */
async function pushTo(...lines: readonly string[]): Promise<readonly RefusedRef[]> {
  const others = [start, wraps].map((name) => ({ name, expected: undefined, next: head }))
  return pushOthers({ others }, on(pushing, report(...lines)))
}

async function pushOthers(request: PushRequest, fault: Fault): Promise<readonly RefusedRef[]> {
  const { url } = await startGitServer({ repository: remotes.repository, fault })
  return pushPack({ url, environment }, request)
}

const ok = 'unpack ok\n'
type Refusal = readonly [name: string, reason: RegExp]

describe('T84: a host that reports about other refs', () => {
  test.each<readonly [what: string, lines: readonly string[], refused: readonly Refusal[]]>([
    ['all of them', [`ok ${start}\n`, `ok ${wraps}\n`], []],
    ['one of them', [`ok ${start}\n`], [[wraps, /does not mention it/]]],
    [
      'only others',
      ['ok refs/heads/main\n', `ok ${start}0\n`, `ok ${wraps.slice(0, -1)}\n`],
      [
        [start, /does not mention it/],
        [wraps, /does not mention it/],
      ],
    ],
    [
      'one twice',
      [`ng ${start} no\n`, `ok ${start}\n`, `ok ${wraps}\n`],
      [[start, /contradicts itself/]],
    ],
    [
      'more than the name',
      [`ok ${start} \n`, `ok ${start}x\n`, `ok ${wraps} really\n`],
      [[wraps, /does not mention it/]],
    ],
    [
      'a refusal with escapes',
      [`ng ${start} \u001B[2Jhook\u202E declined\n`, `ok ${wraps}\n`],
      [[start, /^hook declined$/]],
    ],
  ])('is believed about %s only', async (_, lines, refused) => {
    const found = await pushTo(ok, ...lines)
    expect(found).toEqual(
      refused.map(([name, reason]) => ({ name, reason: expect.stringMatching(reason) })),
    )
  })

  test('has one that could not store the pack refused as a whole', async () => {
    const lines = ['unpack no space\n', `ok ${start}\n`, `ok ${wraps}\n`]
    await expect(pushTo(...lines)).rejects.toMatchObject({ code: 'remote_full' })
    await expect(pushTo(`ok ${start}\n`)).rejects.toMatchObject({ code: 'remote_protocol' })
  })

  test('cannot report without end', async () => {
    const lines = Array.from({ length: 1100 }, () => `ok ${start}\n`)
    await expect(pushTo(ok, ...lines)).rejects.toMatchObject({ code: 'remote_protocol' })
  })

  test.each<readonly [what: string, names: readonly string[]]>([
    ['the branch', ['refs/heads/main']],
    ['another name', ['refs/gitlocket/left-out/x']],
    ['a line break', [`${start}\nx`]],
    ['one twice', [start, start]],
  ])('is not sent %s', async (_, names) => {
    const others = names.map((name) => ({ name, expected: undefined, next: head }))
    const never = on(pushing, () => {
      throw new Error('nothing is sent')
    })
    await expect(pushOthers({ others }, never)).rejects.toMatchObject({ code: 'invalid_input' })
  })
})
