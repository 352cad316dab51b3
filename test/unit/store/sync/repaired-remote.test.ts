// `sync --repair` and the objects of a remote at a path: the push restores missing ones, and the
// error names the files to delete where some are damaged.

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../../src/index.ts'
import { bareRemote, firstClone, joinClone } from '../../../support/clones.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

/** A remote with three memories, in one pack or loose. */
async function remoteWith(how: 'packed' | 'loose') {
  const remote = bareRemote()
  const first = await firstClone(remote)
  for (const name of ['a', 'b', 'c']) {
    const path = `/${name}.md`
    await first.store.as(author).apply([{ type: 'create', path, content: name.repeat(500) }])
  }
  await first.store.as(author).sync()
  if (how === 'packed') git(['repack', '-adq'], remote)
  return { remote, first, contents: await contentsOf(first.store) }
}

/** The files that hold the objects. */
function objectFiles(remote: string): readonly string[] {
  const names = readdirSync(`${remote}/objects`, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => name.endsWith('.pack') || /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name))
    .map((name) => join(remote, 'objects', name))
}

function flip(file: string): void {
  const bytes = readFileSync(file)
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 8
  chmodSync(file, 0o644)
  writeFileSync(file, bytes)
}

/** The blob of the newest memory: no push has a reason to send it again. */
function fileOfBlob(remote: string): string {
  const oids = git(['rev-list', '--objects', '--no-object-names', 'main'], remote)
    .trim()
    .split('\n')
  const blobs = oids.filter((oid) => git(['cat-file', '-t', oid], remote).trim() === 'blob')
  const oid = blobs.at(-1) ?? ''
  return join(remote, 'objects', oid.slice(0, 2), oid.slice(2))
}

describe('a repair of a remote', () => {
  test('sends an object that the host has lost', { tags: 'slow' }, async () => {
    const { remote, first, contents } = await remoteWith('loose')
    const file = fileOfBlob(remote)
    rmSync(file, { force: true })
    expect(() => git(['fsck', '--no-dangling'], remote)).toThrow(/git fsck/)
    await first.store.as(author).sync({ repair: true })
    git(['fsck', '--strict', '--no-dangling'], remote)
    const second = await joinClone(first, remote)
    expect(await contentsOf(second.store)).toEqual(contents)
  })

  test.each(['packed', 'loose'] as const)(
    'says what to delete where a %s object is damaged, and then restores it',
    { tags: 'slow' },
    async (how) => {
      const { remote, first, contents } = await remoteWith(how)
      const [file = ''] = how === 'packed' ? objectFiles(remote) : [fileOfBlob(remote)]
      flip(file)
      expect(() => git(['fsck', '--no-dangling'], remote)).toThrow(/git fsck/)
      await expect(joinClone(first, remote)).rejects.toBeInstanceOf(StoreError)
      await expect(first.store.as(author).sync({ repair: true })).rejects.toMatchObject({
        code: 'object_corrupt',
        message: expect.stringMatching(/delete those that .* or push to a new repository/),
      })
      rmSync(file)
      rmSync(file.replace(/\.pack$/, '.idx'), { force: true })
      await first.store.as(author).sync({ repair: true })
      git(['fsck', '--strict', '--no-dangling'], remote)
      const second = await joinClone(first, remote)
      expect(await contentsOf(second.store)).toEqual(contents)
    },
  )

  test('changes nothing in a valid remote', { tags: 'slow' }, async () => {
    const { remote, first } = await remoteWith('packed')
    await first.store.as(author).sync({ repair: true })
    expect(existsSync(`${remote}/gitlocket`)).toBe(false)
  })
})
