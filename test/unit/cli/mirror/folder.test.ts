// The directory of a mirror while other programs replace files by directories and links.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { utf8 } from '../../../../src/bytes.ts'
import { Folder } from '../../../../src/cli/mirror/folder.ts'
import { sha256OfText } from '../../../../src/crypto/digest.ts'
import { systemRandom } from '../../../../src/crypto/random.ts'
import type { Disk } from '../../../../src/disk/disk.ts'
import { systemDisk } from '../../../../src/disk/system-disk.ts'
import { temporaryDirectory } from '../../../support/temporary.ts'

const own = '.gitlocket-mirror'

async function marked(disk: Disk = systemDisk) {
  const directory = temporaryDirectory()
  const parts = { directory, id: '0123456789abcdef', rule: () => undefined, random: systemRandom }
  const folder = new Folder({ ...parts, disk, isByPath: true })
  await folder.mark()
  return { directory, folder, at: (name: string) => join(directory, name) }
}

test('a directory or a link in place of a file is left where it is', async () => {
  const { folder, at } = await marked()
  mkdirSync(at('x.md'))
  writeFileSync(at('x.md/1.md'), 'one')
  writeFileSync(at('x.md/2.md'), 'two')
  symlinkSync('/etc/hostname', at('y.md'))
  for (const name of ['x.md', 'y.md']) {
    expect(await folder.put(name, utf8('new'), sha256OfText('old')), name).toBe(false)
    expect(folder.remove(name, sha256OfText('old')), name).toBe(false)
  }
  expect(await folder.sweep(async () => true)).toEqual([])
  expect([readdirSync(at('x.md')), existsSync(at('y.md'))]).toEqual([['1.md', '2.md'], true])
})

test('one that takes the place just before it is moved aside gets its name back', async () => {
  let swap = (): void => undefined
  const disk: Disk = {
    ...systemDisk,
    rename(from, to) {
      swap()
      systemDisk.rename(from, to)
    },
  }
  const { folder, at } = await marked(disk)
  writeFileSync(at('x.md'), 'old')
  swap = () => {
    swap = () => undefined
    rmSync(at('x.md'))
    mkdirSync(at('x.md'))
    writeFileSync(at('x.md/1.md'), 'one')
    writeFileSync(at('x.md/2.md'), 'two')
  }
  expect(await folder.put('x.md', utf8('new'), sha256OfText('old'))).toBe(false)
  expect(readdirSync(at('x.md'))).toEqual(['1.md', '2.md'])
})

test('nothing that was moved aside is removed unless it is one saved file', async () => {
  const { folder, at } = await marked()
  const entry = `replaced-${sha256OfText('old')}-00112233`
  mkdirSync(at(`${own}/${entry}/deep`), { recursive: true })
  writeFileSync(at(`${own}/${entry}/deep/a.md`), 'a')
  writeFileSync(at(`${own}/${entry}/deep/b.md`), 'b')
  expect(await folder.sweep(async () => true)).toEqual([entry])
  rmSync(at(`${own}/${entry}/deep/b.md`))
  expect(await folder.sweep(async () => false)).toEqual([`${entry}/deep/a.md`])
  expect(folder.unmark(), 'a text remains').toBe(false)
  expect(readFileSync(at(`${own}/${entry}/deep/a.md`), 'utf8')).toBe('a')
})
