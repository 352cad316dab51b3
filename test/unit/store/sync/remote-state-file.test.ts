// The commits of ours that a remote certainly has: what a sync notes at its end never hides a
// redaction by another process during that sync. And the notes of refused heads and ignored refs.

import { beforeEach, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/crypto/random.ts'
import { generateIdentity } from '../../../../src/index.ts'
import { RemoteStateFile } from '../../../../src/store/local/remote-state-file.ts'
import { ownDirectory } from '../../../support/own-files.ts'
import { temporaryDirectory } from '../../../support/temporary.ts'

const head = { oid: 'a'.repeat(40), height: 20, record: new Uint8Array(32) }
const place = ['web', 'https://host.example/store.git'] as const

let ours: RemoteStateFile
let theirs: RemoteStateFile

beforeEach(async () => {
  const identity = await generateIdentity()
  const owner = { storeId: '5'.repeat(32), identity, random: systemRandom }
  const path = `${temporaryDirectory()}/remotes`
  ours = new RemoteStateFile(owner, ownDirectory({ remotes: path }))
  theirs = new RemoteStateFile(owner, ownDirectory({ remotes: path }))
})

test.each([
  ['all of it', undefined, [12, 7, 9], 7],
  ['a part of it', 5, [12, 7], 5],
  ['a larger part of it', 15, [12], 12],
  ['all of it, and nobody redacted', undefined, [], undefined],
  ['a part of it, and nobody redacted', 15, [], 15],
])('a sync that found %s intact', async (_, intactBelow, heights, expected) => {
  await ours.note(...place, head)
  await theirs.noteRewrite(3)
  const mark = await ours.mark()
  for (const height of heights) await theirs.noteRewrite(height)
  await ours.note(...place, { ...head, intactBelow }, { mark })
  expect((await ours.find(...place))?.intactBelow).toBe(expected)
})

test('more redactions than are remembered leave nothing intact', async () => {
  const mark = await ours.mark()
  for (let n = 0; n < 65; n += 1) await theirs.noteRewrite(100)
  await ours.note(...place, head, { mark })
  expect((await ours.find(...place))?.intactBelow).toBe(0)
})

test('a mark from before the file was lost leaves nothing intact', async () => {
  await theirs.noteRewrite(1)
  const mark = await ours.mark()
  const identity = await generateIdentity()
  const owner = { storeId: '5'.repeat(32), identity, random: systemRandom }
  const elsewhere = ownDirectory({ remotes: `${temporaryDirectory()}/remotes` })
  const lost = new RemoteStateFile(owner, elsewhere)
  await lost.note(...place, head, { mark })
  expect((await lost.find(...place))?.intactBelow).toBe(0)
})

test('the last sixteen refused heads are known, each at its remote', async () => {
  const headOf = (n: number): string => n.toString(16).padStart(40, '0')
  const [name, url] = place
  const refusal = { name, url, basis: '1', code: 'record_rows', details: {} } as const
  for (const n of [...Array(20).keys(), 19]) {
    await ours.noteRefusal({ ...refusal, head: headOf(n), message: `${n} `.repeat(1000) })
  }
  const known = async (n: number): Promise<boolean> => {
    return (await theirs.findRefusal(name, url, headOf(n))) !== undefined
  }
  expect(await Promise.all([3, 4, 19].map((n) => known(n)))).toEqual([false, true, true])
  const found = await theirs.findRefusal(name, url, headOf(19))
  expect(found).toMatchObject({ ...refusal, message: '19 '.repeat(1000).slice(0, 1000) })
  expect(await theirs.findRefusal(name, `${url}/`, headOf(19))).toBeUndefined()
  expect(await theirs.findRefusal('other', url, headOf(19))).toBeUndefined()
})

test('the number of ignored refs is of one remote at one address', async () => {
  const [name, url] = place
  await ours.noteIgnoredRefs(name, url, 5)
  expect(await theirs.ignoredRefs(name, url)).toBe(5)
  expect(await theirs.ignoredRefs(name, `${url}/`)).toBe(0)
  await ours.noteIgnoredRefs(name, url, 0)
  expect(await theirs.ignoredRefs(name, url)).toBe(0)
})

test('a state binds the remote at its address, and is met for that state alone', async () => {
  const [name, url] = place
  const [first, second] = ['01'.repeat(16), '02'.repeat(16)]
  await ours.bind(name, { url, state: first, isMet: false })
  expect(await theirs.findBound(name, url)).toEqual({ url, state: first, isMet: false })
  expect(await theirs.findBound(name, `${url}/other`)).toBeUndefined()
  await theirs.bind(name, { url, state: second, isMet: false })
  // A sync that began before.
  await ours.noteMet(name, { url, state: first, isMet: false })
  expect(await ours.findBound(name, url)).toEqual({ url, state: second, isMet: false })
  await ours.noteMet(name, { url, state: second, isMet: false })
  expect((await theirs.findBound(name, url))?.isMet).toBe(true)
  await theirs.bind(name, undefined)
  expect(await ours.findBound(name, url)).toBeUndefined()
})
