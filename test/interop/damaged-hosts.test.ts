// A host that git serves, with an object that is missing or damaged in its files: the damage that a
// repair of the remote mends, its advice for all other damage, and that the advice helps.

import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { StoreSyncOptions } from '../../src/store/sync/report.ts'
import { bareRemote, type Clone, firstClone, joinClone } from '../support/clones.ts'
import { environment } from '../support/faulty-remotes.ts'
import { startGitServer } from '../support/git-server.ts'
import { full } from '../support/seed.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const sshd = requires('sshd')

interface Served {
  readonly remote: string
  readonly url: string
  readonly first: Clone
  readonly access: NonNullable<StoreSyncOptions['access']>
}

const hosts = [
  ['http', serveHttp, false],
  [`ssh${sshd.note}`, serveSsh, sshd.missing],
] as const

async function serveHttp(): Promise<Served> {
  const remote = bareRemote()
  const { url } = await startGitServer({ repository: remote })
  return sent({ remote, url, access: { environment } })
}

async function serveSsh(): Promise<Served> {
  const remote = bareRemote()
  const { url, command } = await startSshServer()
  return sent({ remote, url: `${url}${remote}`, access: { sshCommand: command } })
}

async function sent(host: Omit<Served, 'first'>): Promise<Served> {
  const first = await firstClone(host.url)
  for (const name of ['a', 'b', 'c']) {
    const path = `/${name}.md`
    await first.store.as(author).apply([{ type: 'create', path, content: name.repeat(500) }])
  }
  await first.store.as(author).sync({ access: host.access })
  return { ...host, first }
}

/** The newest blob: no push has a reason to send it again. */
function newestBlob(remote: string): string {
  const listed = git(['rev-list', '--objects', '--no-object-names', 'main'], remote)
  const oids = listed.trim().split('\n')
  return oids.findLast((oid) => git(['cat-file', '-t', oid], remote).trim() === 'blob') ?? ''
}

function looseFile(remote: string): string {
  const oid = newestBlob(remote)
  return join(remote, 'objects', oid.slice(0, 2), oid.slice(2))
}

function packFiles(remote: string): readonly string[] {
  git(['repack', '-adq'], remote)
  const directory = join(remote, 'objects/pack')
  return readdirSync(directory).map((name) => join(directory, name))
}

function flip(file: string): void {
  const bytes = readFileSync(file)
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 8
  chmodSync(file, 0o644)
  writeFileSync(file, bytes)
}

async function expectMended({ remote, url, first, access }: Served): Promise<void> {
  await first.store.as(author).sync({ access, repair: true })
  git(['fsck', '--strict', '--no-dangling'], remote)
  const second = await joinClone(first, url, { access })
  expect(await contentsOf(second.store)).toEqual(await contentsOf(first.store))
}

describe.each(hosts)('behind %s a repair', (_, serve, isMissing) => {
  test.skipIf(isMissing)('sends missing objects', { tags: 'slow' }, async () => {
    const served = await serve()
    rmSync(looseFile(served.remote))
    expect(() => git(['fsck', '--no-dangling'], served.remote)).toThrow(/git fsck/)
    await expectMended(served)
  })

  test.skipIf(isMissing)(
    'names the files to delete if they are damaged, and then mends',
    { tags: 'slow' },
    async () => {
      for (const how of full ? (['packed', 'loose'] as const) : (['packed'] as const)) {
        const served = await serve()
        const { remote, url, first, access } = served
        const files = how === 'packed' ? packFiles(remote) : [looseFile(remote)]
        flip(files.find((file) => how === 'loose' || file.endsWith('.pack')) ?? '')
        const refused = how === 'packed' ? 'pack_refused' : 'remote_protocol'
        await expect(joinClone(first, url, { access })).rejects.toMatchObject({ code: refused })
        await expect(first.store.as(author).sync({ access, repair: true })).rejects.toMatchObject({
          code: 'object_corrupt',
          message: expect.stringMatching(/delete those that .* or push to a new repository/),
        })
        for (const file of files) rmSync(file)
        await expectMended(served)
      }
    },
  )
})
