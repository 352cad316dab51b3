// A host that is broken, slow, wrong, or hostile: each ends soon, with a code for its cause, and
// leaves no file.
// @module-tag slow

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import {
  failureOf,
  failureUnder,
  fetchFrom,
  head,
  push,
  sharedRemotes,
  withFault,
} from '../support/faulty-remotes.ts'
import {
  advertisement,
  answer,
  band,
  cut,
  fetching,
  nak,
  on,
  packet,
  pushing,
  report,
  reportAnswer,
  result,
  sendPack,
  stall,
} from '../support/git-server.ts'
import { blob, rawPack } from '../support/raw-pack.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { fetchPack, listRemote } from '../support/transfer.ts'

const { repository, empty } = sharedRemotes()

describe('asked for a list, a host that', () => {
  test.each<[string, ReturnType<typeof answer>, string, RegExp]>([
    ['denies access', answer(403, 'no'), 'remote_auth', /denies access.*no/],
    ['knows no repository', answer(404, ''), 'remote_not_found', /no repository/],
    ['had one', answer(410, ''), 'remote_not_found', /no longer has/],
    ['is broken', answer(500, '<html>'), 'remote_busy', /internal error \(500\)$/],
    ['is overloaded', answer(503, 'later'), 'remote_busy', /later/],
    [
      'is asked too often',
      answer(429, '', { 'retry-after': '30' }),
      'remote_busy',
      /limits the rate.*wait for 30 seconds$/,
    ],
    ['is a teapot', answer(418, ''), 'remote_protocol', /418/],
    ['shows a page', answer(200, '<html>Hello'), 'remote_protocol', /not a list of refs/],
    ['says nothing', answer(200, ''), 'remote_protocol', /empty|not a list/],
    ['says no more', cut(), 'remote_unreachable', /cut off/],
    ['never answers', stall(), 'remote_timeout', /stopped answering/],
    [
      'insists on version 2',
      listing(packet('version 2\n')),
      'remote_protocol',
      /another protocol version/,
    ],
    [
      'reports an error',
      listing(packet('ERR access \u001B[31mdenied')),
      'remote_protocol',
      /says access denied$/,
    ],
    [
      'names no commits',
      listing(packet('refs/heads/main\0caps')),
      'remote_protocol',
      /list of refs/,
    ],
    [
      'has other objects',
      listing(packet(`${head} refs/heads/main\0object-format=sha256`)),
      'remote_protocol',
      /SHA-1/,
    ],
    ['breaks off its list', torn(), 'remote_protocol', /no end/],
    [
      'compresses',
      answer(200, 'x', { 'content-encoding': 'gzip' }),
      'remote_protocol',
      /compressed/,
    ],
  ])('%s', async (_, fault, code, message) => {
    const { server, access } = await withFault(repository)
    const work = () => listRemote(access)
    const error = await failureUnder(server, [code, on(advertisement, fault)], work)
    expect({ code: error.code, message: error.message }).toEqual({
      code,
      message: expect.stringMatching(message),
    })
  })

  test('has refs without end is not listened to for ever', { tags: 'slow' }, async () => {
    const line = packet(`${head} refs/heads/${'x'.repeat(200)}\n`)
    const lines = Buffer.concat(Array<Buffer>(80_000).fill(line))
    const { access } = await withFault(repository, on(advertisement, listing(lines)))
    expect(await failureOf(listRemote(access))).toMatchObject({ code: 'remote_protocol' })
  })
})

/** A list as a host sends it. */
function listing(...lines: readonly Uint8Array[]): ReturnType<typeof answer> {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
    response.write(packet('# service=git-upload-pack\n'))
    response.end(Buffer.concat([Buffer.from('0000'), ...lines, Buffer.from('0000')]))
  }
}

/** Without its flush, as if there were no other refs. */
function torn(): ReturnType<typeof answer> {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
    response.write(packet('# service=git-upload-pack\n'))
    response.end(`0000${packet(`${head} refs/heads/other\0 side-band-64k`).toString('latin1')}`)
  }
}

describe('asked for objects, a host that', () => {
  const pack = rawPack([blob('one')])
  test.each<[string, ReturnType<typeof answer>, string, RegExp]>([
    [
      'has lost them',
      result('git-upload-pack', packet('ERR upload-pack: not our ref')),
      'remote_moved',
      /moved/,
    ],
    ['breaks off at once', cut(), 'remote_unreachable', /cut off/],
    [
      'breaks off in the pack',
      cut(nak, band(1, pack.subarray(0, 20))),
      'remote_unreachable',
      /cut off/,
    ],
    [
      'breaks off in a packet',
      cut(nak, band(1, pack).subarray(0, 20)),
      'remote_unreachable',
      /cut off/,
    ],
    [
      'ends without a flush',
      result('git-upload-pack', nak, band(1, pack)),
      'remote_unreachable',
      /cut off/,
    ],
    ['stops in the pack', stall(nak, band(1, pack.subarray(0, 20))), 'remote_timeout', /stopped/],
    [
      'fails in the pack',
      result('git-upload-pack', nak, band(1, pack), band(3, 'out of memory')),
      'remote_protocol',
      /out of memory/,
    ],
    ['sends another pack', sendPack(pack), 'pack_refused', /commit that was asked for/],
    ['sends half a pack', sendPack(pack.subarray(0, 40)), 'pack_refused', /checksum|early/],
    [
      'sends no packets',
      result('git-upload-pack', 'Hello, world'),
      'remote_protocol',
      /not a pkt-line/,
    ],
    [
      'answers something else',
      result('git-upload-pack', packet('READY')),
      'remote_protocol',
      /does not match/,
    ],
    [
      'invents a band',
      result('git-upload-pack', nak, packet('\u0007x')),
      'remote_protocol',
      /side band/,
    ],
    ['is broken', answer(500, 'oops'), 'remote_busy', /500\): oops/],
    ['redirects now', answer(307, '', { location: '/elsewhere' }), 'remote_protocol', /307/],
  ])('%s', async (_, fault, code, message) => {
    const { server, access } = await withFault(repository)
    const directory = join(temporaryDirectory(), 's')
    const store = await createDiskObjectStore({ directory })
    const work = () => fetchPack(access, { want: head, haves: [], into: store.exchange })
    const error = await failureUnder(server, [code, on(fetching, fault)], work)
    expect({ code: error.code, message: error.message }).toEqual({
      code,
      message: expect.stringMatching(message),
    })
    expect(readdirSync(join(directory, 'objects/pack'))).toEqual([])
    await store.close()
  })

  test('sends messages for people is heard, without terminal codes', async () => {
    const heard: string[] = []
    const bells = band(2, 'Count\u0007ing\u202E objects: 50%\rdone\u001B]0;title\u0007\n')
    const parts = [nak, bells, band(3, 'enough')]
    const { access } = await withFault(
      repository,
      on(fetching, result('git-upload-pack', ...parts)),
    )
    await failureOf(fetchFrom({ ...access, onMessage: (text) => heard.push(text) }))
    expect(heard).toEqual(['Count ing objects: 50%', 'done'])
  })
})

describe('given a push, a host that', () => {
  const ok = 'ok refs/heads/main\n'
  const spoken = (text: string, ...lines: string[]) =>
    result('git-receive-pack', band(2, text), reportAnswer(...lines))
  const ng = (why: string): string => `ng refs/heads/main ${why}\n`
  test.each<[string, ReturnType<typeof answer>, string, RegExp]>([
    [
      'has a hook',
      report('unpack ok\n', ng('pre-receive hook declined')),
      'push_rejected',
      /a hook there/,
    ],
    [
      'protects the branch',
      spoken(
        'error: GH006: Protected branch\n',
        'unpack ok\n',
        ng('protected branch hook declined'),
      ),
      'push_rejected',
      /allow this account to push/,
    ],
    [
      'has a working tree',
      report('unpack ok\n', ng('branch is currently checked out')),
      'push_rejected',
      /bare/,
    ],
    [
      'cannot take in what was sent',
      report('unpack index-pack abnormal exit\n', ng('unpacker error')),
      'push_rejected',
      /`sync --repair` sends everything, without deltas.*abnormal exit/,
    ],
    [
      'lets another one win',
      spoken(
        `error: cannot lock ref: is at ${head} but expected`,
        'unpack ok\n',
        ng('failed to update ref'),
      ),
      'remote_moved',
      /first/,
    ],
    ['takes no push of that size', answer(413, ''), 'push_rejected', /size/],
    ['says nothing', result('git-receive-pack'), 'remote_unreachable', /cut off/],
    ['says only half', report('unpack ok\n'), 'remote_protocol', /does not mention the branch/],
    [
      'speaks of another branch',
      report('unpack ok\n', 'ok refs/heads/other\n'),
      'remote_protocol',
      /does not mention the branch/,
    ],
    ['says yes and no', report('unpack ok\n', ok, ng('no')), 'remote_protocol', /contradicts/],
    ['forgets to unpack', report(ok), 'remote_protocol', /incomplete/],
    ['breaks off its report', cut(band(1, packet('unpack ok\n'))), 'remote_unreachable', /cut off/],
    ['never reports', stall(band(2, 'Resolving\n')), 'remote_timeout', /stopped/],
    [
      'talks without end',
      report('unpack ok\n', ...Array<string>(2000).fill('ok refs/heads/x\n')),
      'remote_protocol',
      /does not end/,
    ],
    [
      'swears',
      report('unpack ok\n', ng(`\u001B[2J${'x'.repeat(5000)}`)),
      'push_rejected',
      /^[\x20-\x7E…]{1,600}$/,
    ],
  ])('%s', async (_, fault, code, message) => {
    const { server, access } = await withFault(empty)
    const error = await failureUnder(server, [code, on(pushing, fault)], () => push(access))
    expect({ code: error.code, message: error.message }).toEqual({
      code,
      message: expect.stringMatching(message),
    })
  })
})
