// Redaction through the façade: which versions are selected, which requests are refused, and the
// remaining versions.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type Author,
  formatDeviceCard,
  generateIdentity,
  type MemoryStore,
  type Version,
} from '../../../src/index.ts'
import { author, newStore, reopen, type TestPlace } from '../../support/stores.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../../support/temporary.ts'
import { requires } from '../../support/tools.ts'

const key = 'sk-live-4242424242424242'
const intruder: Author = { actor: { type: 'session', id: 'intruder' } }
const ssh = requires('ssh-keygen')

/** Three versions of `/a.md`, the second with a key; `/b.md` by another; `/gone.md` deleted. */
async function written(): Promise<{ store: MemoryStore; place: TestPlace }> {
  const made = await newStore()
  const { store } = made
  await store.as(author).apply([{ type: 'create', path: '/a.md', content: 'one\n' }])
  await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => `one\n${key}\n` }])
  await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => 'one\ntwo\n' }])
  await store.as(intruder).apply([{ type: 'create', path: '/b.md', content: 'b\n' }])
  await store.as(author).apply([{ type: 'create', path: '/gone.md', content: `one\n${key}\n` }])
  await store.as({ ...author, reason: 'had a key' }).apply([{ type: 'delete', path: '/gone.md' }])
  return made
}

async function versionsOf(store: MemoryStore): Promise<readonly Version[]> {
  return (await store.history.versions()).data
}

async function leaked(store: MemoryStore): Promise<Version> {
  const memory = await store.read('/a.md')
  const { data: versions } = await store.history.versions({ memoryId: memory?.memoryId })
  const [, second] = versions
  if (second === undefined) throw new Error('There is no second version')
  return second
}

/** Every byte below a directory, as text. */
function everything(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => `${directory}/${name}`)
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

describe('a redaction', () => {
  test(
    'erases one version and keeps its author, operation and time',
    { tags: 'slow' },
    async () => {
      const { store } = await written()
      const victim = await leaked(store)
      const { versionId } = victim
      const { plan, certificate } = await store
        .as(author)
        .redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
      expect(plan.versions.map((version) => version.versionId)).toEqual([versionId])
      expect(certificate?.versions).toMatchObject([{ memory_version_id: versionId }])
      const left = await store.history.version(versionId)
      const { memoryId, operation, createdAt, createdBy, deviceId } = victim
      expect(left).toMatchObject({ memoryId, operation, createdAt, createdBy, deviceId })
      const { content, path, sha256, sizeBytes, reason } = left
      const nothing = [undefined, undefined, undefined, undefined, undefined]
      expect([content, path, sha256, sizeBytes, reason]).toEqual(nothing)
      expect(left.redactedBy).toEqual(author.actor)
      expect((await store.read('/a.md'))?.content).toBe('one\ntwo\n')
      await store.maintenance.verify()
      expect((await store.maintenance.findResidue()).found).toEqual([])
      await store.close()
    },
  )

  test('reports other versions with the same text', async () => {
    const { store } = await written()
    const { versionId } = await leaked(store)
    const plan = await store.history.planRedaction({
      select: { versionIds: [versionId] },
      reason: 'leaked_secret',
    })
    expect(plan.sameText.map(({ path, operation }) => [path, operation])).toEqual([
      ['/gone.md', 'created'],
    ])
    await store.close()
  })

  test('by content finds every version with the text, in deleted memories too', async () => {
    const { store, place } = await written()
    const request = { select: { matching: /sk-live-\d+/ }, reason: 'leaked_secret' } as const
    const { plan } = await store.as(author).redact(request)
    expect(new Set(plan.versions.map(({ path }) => path))).toEqual(new Set(['/a.md', '/gone.md']))
    const again = await store.as(author).redact(request)
    expect(again.certificate).toBeUndefined()
    await store.close()
    git(['fsck', '--strict', '--full'], place.directory)
  })

  test.each([
    ['memory', { memoryId: 'of /gone.md' }, 2],
    ['path', { path: '/gone.md' }, 2],
    ['actor', { actorId: 'agent-1' }, 4],
    ['session', { session: 'agent-1' }, 4],
    ['time', { before: 8_000_000_000_000 }, 4],
    ['two conditions', { path: '/a.md', session: 'agent-1' }, 2],
    ['reason', { matching: /had a key/ }, 1],
  ])(
    'by %s chooses what fits and keeps current versions',
    { tags: 'slow' },
    async (_name, select, count) => {
      const { store } = await written()
      const gone = (await store.history.versions({ path: '/gone.md' })).data[0]
      const chosen = 'memoryId' in select ? { memoryId: gone?.memoryId } : select
      const request = { select: chosen, reason: 'retention', current: 'keep' } as const
      const { plan } = await store.as(author).redact(request)
      expect(plan.versions).toHaveLength(count)
      await store.maintenance.verify()
      await store.close()
    },
  )

  test('refuses the current version of a live memory, with nothing changed', async () => {
    const { store } = await written()
    const before = (await store.status()).head
    const request = { select: { path: '/a.md' }, reason: 'legal' } as const
    const memory = await store.read('/a.md')
    await expect(store.as(author).redact(request)).rejects.toMatchObject({
      code: 'version_current',
      details: { versionIds: [memory?.versionId] },
    })
    expect((await store.status()).head).toBe(before)
    await store.close()
  })

  test('deletes first if asked to, and erases the path that the deletion repeats', async () => {
    const { store, place } = await written()
    const request = { select: { path: '/a.md' }, reason: 'legal', current: 'delete' } as const
    await store.as(author).redact(request)
    expect(await store.read('/a.md')).toBeUndefined()
    const paths = (await versionsOf(store)).map(({ path, operation }) => [path, operation])
    expect(paths.filter(([path]) => path === '/a.md')).toEqual([])
    expect(paths[0]).toEqual([undefined, 'deleted'])
    expect((await store.maintenance.findResidue()).found).toEqual([])
    await store.maintenance.verify()
    await store.close()
    const again = await reopen(place)
    await again.maintenance.verify()
    await again.close()
  })

  test('overwrites first if asked to, and keeps lines that do not match', async () => {
    const { store } = await written()
    await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => `a ${key} b\n` }])
    const select = { matching: /sk-live-\d+/ }
    await store.as(author).redact({ select, reason: 'leaked_secret', current: 'overwrite' })
    expect((await store.read('/a.md'))?.content).toBe('a [redacted] b\n')
    expect(
      (await store.history.planRedaction({ select, reason: 'leaked_secret' })).versions,
    ).toEqual([])
    await store.maintenance.verify()
    await store.close()
  })

  test.each([
    ['nothing to choose by', { select: {}, reason: 'legal' }, 'invalid_input'],
    [
      'a pattern that matches anything',
      { select: { matching: /x*/ }, reason: 'legal' },
      'invalid_input',
    ],
    ['an unknown reason', { select: { path: '/' }, reason: 'because' }, 'invalid_input'],
    [
      'an unknown version',
      { select: { versionIds: [`memver_${'0'.repeat(26)}`] }, reason: 'legal' },
      'not_found',
    ],
    [
      'an unknown memory',
      { select: { memoryId: `mem_${'0'.repeat(26)}` }, reason: 'legal' },
      'not_found',
    ],
  ])('refuses %s', async (_name, request, code) => {
    const { store } = await written()
    // @ts-expect-error one of the requests has a reason that the types exclude
    await expect(store.as(author).redact(request)).rejects.toMatchObject({ code })
    await store.close()
  })

  test('leaves no byte of the old objects in any file of the store', { tags: 'slow' }, async () => {
    const { store, place } = await written()
    await store.close()
    const { directory } = place
    const list = ['cat-file', '--batch-all-objects', '--batch-check']
    const before = git(list, directory)
    const again = await reopen(place)
    const { certificate } = await again
      .as(author)
      .redact({ select: { matching: /sk-live/ }, reason: 'leaked_secret' })
    // The journal of this handle is in use, and holds none of it either.
    await again.as(author).apply([{ type: 'create', path: '/later.md', content: 'later' }])
    const ids = certificate?.object_ids ?? []
    const known = new Set(before.split('\n').map((line) => line.slice(0, 40)))
    expect(ids.length).toBeGreaterThan(8)
    expect(ids.every((id) => known.has(id))).toBe(true)
    const bytes = everything(directory)
    for (const id of ids) expect(bytes).not.toContain(Buffer.from(id, 'hex').toString('latin1'))
    await again.close()
    const left = git(list, directory)
    for (const id of ids) expect(left).not.toContain(id)
    expect(git(['fsck', '--strict', '--full'], directory)).not.toContain('dangling')
  })

  test('is accepted by another open handle', async () => {
    const { store, place } = await written()
    const other = await reopen(place)
    await other.history.versions()
    await store.as(author).redact({ select: { matching: /sk-live/ }, reason: 'leaked_secret' })
    expect((await other.read('/a.md'))?.content).toBe('one\ntwo\n')
    const shown = (await other.history.versions()).data.filter(
      (one) => one.redactedAt !== undefined,
    )
    expect(shown).toHaveLength(2)
    expect(shown.every(({ path, sha256 }) => path === undefined && sha256 === undefined)).toBe(true)
    await other.as(author).apply([{ type: 'create', path: '/c.md', content: 'c' }])
    expect((await store.read('/c.md'))?.content).toBe('c')
    await other.close()
    await store.maintenance.verify()
    expect((await store.maintenance.findResidue()).found).toEqual([])
    await store.close()
  })

  test('is not possible for a writer', async () => {
    const { store, place } = await newStore()
    await store.as(author).apply([{ type: 'create', path: '/a', content: 'a' }])
    const identity = await generateIdentity()
    await store.as(author).devices.add(formatDeviceCard(identity), 'writer')
    await store.close()
    const writer = await reopen(place, { identity })
    await writer.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'b' }])
    const request = { select: { path: '/a' }, reason: 'legal', current: 'keep' } as const
    await expect(writer.as(author).redact(request)).rejects.toMatchObject({
      code: 'permission_denied',
    })
    await writer.close()
  })
})

test.skipIf(ssh.missing)(
  `ssh-keygen verifies the certificate of a redaction${ssh.note}`,
  async () => {
    const { store } = await written()
    const { certificate } = await store
      .as(author)
      .redact({ select: { matching: /sk-live/ }, reason: 'leaked_secret' })
    await store.close()
    if (certificate === undefined) throw new Error('There is no certificate')
    const { signature, ...statement } = certificate
    const directory = temporaryDirectory()
    writeFileSync(`${directory}/signers`, `device ${signature.public_key}\n`)
    writeFileSync(`${directory}/signature`, signature.value)
    const verify = (input: string): number | null =>
      spawnSync(
        'ssh-keygen',
        [
          '-Y',
          'verify',
          '-f',
          `${directory}/signers`,
          '-I',
          'device',
          '-n',
          signature.namespace,
        ].concat(['-s', `${directory}/signature`]),
        { input, env: cleanEnvironment(), stdio: ['pipe', 'ignore', 'ignore'] },
      ).status
    expect(verify(JSON.stringify(statement))).toBe(0)
    expect(verify(JSON.stringify({ ...statement, reason: 'legal' }))).not.toBe(0)
  },
)
