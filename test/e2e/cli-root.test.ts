// Root in the store of another user, by `sudo gitlocket` or by a program with the library: it is
// refused before anything is written, and what root left there before is named, with the command
// that gives it back.

import { spawnSync } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  auditStore,
  createStore,
  generateIdentity,
  joinStore,
  openStore,
  type StorePlaces,
} from '../../src/index.ts'
import { openHostAdministration } from '../../src/server/server.ts'
import { findCloneHead } from '../../src/store/clone-remotes.ts'
import { author } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

const isRoot = process.getuid?.() === 0
const note = isRoot ? '' : ' (skipped: needs root)'
const uid = 12_345

function entriesIn(directory: string): readonly string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return [directory, ...names.map((name) => join(directory, name))]
}

function giveAway(home: Home): void {
  for (const path of entriesIn(home.directory)) chownSync(path, uid, uid)
}

function asUser(home: Home, ...words: readonly string[]): { stdout: string; status: number } {
  const { stdout, status } = spawnSync(process.execPath, [mainFile, ...words], {
    cwd: home.directory,
    env: home.environment(),
    encoding: 'utf8',
    uid,
    gid: uid,
  })
  return { stdout, status: status ?? -1 }
}

function ownersIn(home: Home): readonly number[] {
  return [...new Set(entriesIn(home.directory).map((path) => statSync(path).uid))]
}

describe.skipIf(!isRoot)(`root in the store of another user${note}`, () => {
  test('is refused, and the user reads and writes on', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a\n')
    giveAway(home)
    for (const words of [['create', 'b.md', '--text', 'b'], ['compact'], ['ls'], ['verify']]) {
      const refused = await home.call(words)
      expect(refused).toMatchObject({ exitCode: 9, stderr: expect.stringContaining("-u '#12345'") })
    }
    expect(ownersIn(home)).toEqual([uid])
    expect(asUser(home, 'cat', 'a.md')).toEqual({ stdout: 'a\n', status: 0 })
    expect(asUser(home, 'create', 'b.md', '--text', 'b').status).toBe(0)
  })

  test('makes no store in the home of the user', async () => {
    const home = newHome()
    mkdirSync(join(home.directory, '.config'))
    giveAway(home)
    expect(await home.call(['init'])).toMatchObject({ exitCode: 9 })
    expect(readdirSync(home.directory)).toEqual(['.config'])
  })

  test('is refused by the library too, which writes nothing', async () => {
    const root = temporaryDirectory()
    const identity = await generateIdentity()
    const [own, theirs] = ['own', 'theirs'].map((name) => join(root, name))
    const placed = (place = ''): StorePlaces => ({
      directory: join(place, 'store'),
      stateDirectory: join(place, 'state'),
      identity,
    })
    const { store } = await createStore(placed(own))
    const { id: storeId } = store
    await store.close()
    cpSync(own ?? '', theirs ?? '', { recursive: true })
    for (const path of entriesIn(theirs ?? '')) chownSync(path, uid, uid)
    const before = entriesIn(theirs ?? '')
    const dataDirectory = join(theirs ?? '', 'data')
    const [here, there] = [placed(own), placed(theirs)]
    const denied = { code: 'storage_denied', message: expect.stringContaining('as user 12345') }
    for (const attempt of [
      () => openStore(there),
      () => openStore({ ...there, directory: here.directory }),
      () => openStore({ ...here, directory: there.directory }),
      () => createStore(placed(join(theirs ?? '', 'new'))),
      () =>
        joinStore({ ...placed(join(theirs ?? '', 'new')), url: here.directory, storeId, author }),
      () => auditStore(there),
      () => findCloneHead(there.directory),
      () => openHostAdministration({ ...here, dataDirectory }),
    ]) {
      await expect(attempt()).rejects.toMatchObject(denied)
    }
    expect(entriesIn(theirs ?? '')).toEqual(before)
    await (await openStore(here)).close()
  })

  test('serves no data of the user', async () => {
    const home = newHome()
    const data = join(home.directory, 'data')
    mkdirSync(data)
    chownSync(data, uid, uid)
    const refused = await home.call(['workspace', 'list', '--data', data])
    expect(refused).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('user 12345') })
    expect(readdirSync(data)).toEqual([])
  })

  test('left files that doctor names with the command', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    giveAway(home)
    expect(asUser(home, 'doctor', '--json').stdout).not.toContain('chown')
    const file = entriesIn(home.store).find((path) => statSync(path).isFile()) ?? ''
    for (const path of [file, home.stateDirectory]) chownSync(path, 0, 0)
    const { stdout, status } = asUser(home, 'doctor')
    expect(status).not.toBe(0)
    expect(stdout).toContain(`sudo chown -hR 12345:12345 ${file} ${home.stateDirectory}`)
  })
})
