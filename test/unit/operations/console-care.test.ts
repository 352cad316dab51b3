// How the console erases, manages devices and remotes, and proves, on a real store; and what an
// auditor's is told.

import { describe, expect, test } from 'vitest'
import { reportSigner } from '../../../src/cli/report/signed.ts'
import { sha256OfText } from '../../../src/crypto/digest.ts'
import { formatId } from '../../../src/format/id.ts'
import { formatDeviceCard, generateIdentity, openStore } from '../../../src/index.ts'
import { auditorSubject, memberSubject } from '../../../src/operations/console/subject.ts'
import { verifyReport } from '../../../src/store/report/report-signature.ts'
import { alone, bareRemote, firstClone, idOf, joinClone, sync } from '../../support/clones.ts'
import { askerOf, consoleUser, newConsole } from '../../support/console.ts'
import { author } from '../../support/stores.ts'

async function secretStore() {
  const made = await newConsole()
  const { store } = made
  await store.as(author).write('/a.md', 'the key-1 (of) x')
  await store.as(author).write('/b.md', 'the key-1 (of) x')
  await store.as(author).write('/a.md', 'text-2 of a')
  return made
}

describe('redaction', () => {
  test('plans the versions to erase, those in use, and unreachable copies', async () => {
    const { store, ask } = await secretStore()
    const url = bareRemote()
    await ask('remotes.add', { name: 'origin', url })
    const plan = await ask('redaction.plan', { select: { text: 'key-1 (of)' } })
    expect(plan.versions.map(({ path }) => path)).toEqual(['/b.md', '/a.md'])
    expect(plan.current.map(({ path }) => path)).toEqual(['/b.md'])
    expect(plan).toMatchObject({ already: 0, sameText: [], remotes: ['origin'] })
    expect(plan.builtOn.map(({ path }) => path)).toEqual([])
    expect(plan.rewritten).toBe(3)
    expect(plan.commits).toBe((await store.status()).commits)
    const memoryId = plan.versions[1]?.memoryId
    const one = await ask('redaction.plan', { select: { memoryId } })
    expect(one.sameText.map(({ path }) => path)).toEqual(['/b.md'])
    const copies = await ask('redaction.plan', { select: { memoryId, withCopies: true } })
    expect(copies.versions).toHaveLength(3)
  })

  test('erases the confirmed versions, and proves it', { tags: 'slow' }, async () => {
    const { store, ask } = await secretStore()
    const select = { text: 'key-1' }
    const { versions } = await ask('redaction.plan', { select })
    const confirmed = versions.map(({ versionId }) => versionId)
    const refused = ask('redaction.run', { select, why: 'leaked_secret', confirmed })
    await expect(refused).rejects.toMatchObject({ code: 'version_current' })
    const way = { current: 'overwrite' as const }
    const erased = await ask('redaction.run', { select, why: 'leaked_secret', confirmed, ...way })
    expect(new Set(erased.versions)).toEqual(new Set(confirmed))
    const certificate = erased.certificate ?? ''
    expect(await store.maintenance.verifyCertificate(certificate)).toMatchObject({
      new_head: erased.newHead,
    })
    const proof = await ask('redaction.proof', { certificate })
    expect(proof).toMatchObject({ versions: 2, found: [], pendingDevices: [], behindRemotes: [] })
    expect(proof.textsOutside).toEqual([])
    const { redactions } = await ask('redaction.past', {})
    expect(redactions).toMatchObject([{ reason: 'leaked_secret', pendingDevices: [] }])
    const redaction = redactions[0]?.redaction ?? ''
    expect(erased.redaction).toBe(redaction)
    const issued = await ask('redaction.certificate', { redaction })
    expect(issued).toMatchObject({ certificate, objectIds: 'known' })
    expect(issued.objects).toEqual(JSON.parse(certificate).object_ids)
    const other = ask('redaction.certificate', { redaction: '0'.repeat(64) })
    await expect(other).rejects.toMatchObject({ code: 'not_found' })
    expect((await ask('redaction.plan', { select: { versionIds: confirmed } })).already).toBe(2)
    const none = { select: { versionIds: confirmed }, why: 'legal' as const, confirmed }
    expect(await ask('redaction.run', none)).toEqual({
      versions: [],
      certificate: undefined,
      newHead: undefined,
      isErased: true,
    })
  })

  test('shows each place of the text, and of the rest its length alone', async () => {
    const { store, ask } = await newConsole()
    await store.as(author).write('/key-1.md', 'one\nthe key-1 (of) key-1x\n')
    const { data } = await store.history.versions()
    const versionIds = data.map(({ versionId }) => versionId)
    const found = await ask('redaction.occurrences', { select: { text: 'key-1' }, versionIds })
    expect(found.versions).toEqual([
      {
        versionId: versionIds[0],
        places: [
          { where: 'text', line: 2, match: 'key-1', before: 4, after: 12 },
          { where: 'text', line: 2, match: 'key-1', before: 15, after: 1 },
          { where: 'path', line: 1, match: 'key-1', before: 1, after: 3 },
        ],
        more: 0,
      },
    ])
    const every = await ask('redaction.occurrences', {
      select: { text: 'one\nthe', regex: true },
      versionIds,
    })
    expect(every.versions[0]?.places).toMatchObject([{ line: 1, before: 0, after: 18 }])
    const none = await ask('redaction.occurrences', { select: { path: '/' }, versionIds })
    expect(none.versions).toEqual([])
  })

  test('describes the first places alone of a pattern that matches everywhere', async () => {
    const { store, ask } = await newConsole()
    const text = 'x\n'.repeat(40_000)
    for (let n = 0; n < 40; n += 1) await store.as(author).write(`/${n}.md`, text)
    const { data } = await store.history.versions()
    const versionIds = data.map(({ versionId }) => versionId)
    const select = { text: 'x?', regex: true }
    const { versions } = await ask('redaction.occurrences', { select, versionIds })
    expect(versions).toHaveLength(versionIds.length)
    for (const { places, more } of versions) {
      // It matches each x, and the empty text before each line break.
      expect(places.map(({ line }) => line)).toEqual([1, 1, 2, 2, 3])
      expect(more).toBeGreaterThan(80_000 - 5)
    }
  })

  test('is confirmed by no device that joined later', async () => {
    const { store, ask } = await secretStore()
    const me = store.as(author)
    const added: string[] = []
    const add = async (name: string): Promise<void> => {
      const card = formatDeviceCard(await generateIdentity(), { name })
      added.push((await me.devices.add(card, 'writer', alone)).deviceId)
    }
    await add('before')
    await me.redact({ select: { matching: /key-1/ }, reason: 'legal', current: 'overwrite' })
    await add('after')
    const own = (await store.devices.list()).filter(({ isThis }) => isThis)
    const { redactions } = await ask('redaction.past', {})
    expect(redactions).toMatchObject([
      {
        confirmedDevices: own.map(({ deviceId }) => deviceId),
        pendingDevices: [{ deviceId: added[0] }],
      },
    ])
  })

  test('has not failed if it cannot be looked up afterwards', async () => {
    const { store } = await secretStore()
    const me = store.as(author)
    const redact = me.redact.bind(me)
    me.redact = async (...given) => {
      const done = await redact(...given)
      await store.close()
      return done
    }
    const ask = askerOf(memberSubject(consoleUser(store, { writer: () => me })))
    const select = { text: 'key-1' }
    const { versions } = await ask('redaction.plan', { select })
    const confirmed = versions.map(({ versionId }) => versionId)
    const wanted = { select, why: 'legal', current: 'overwrite', confirmed } as const
    expect(await ask('redaction.run', wanted)).toMatchObject({
      isErased: true,
      redaction: undefined,
      certificate: expect.stringContaining('gitlocket_redaction'),
    })
  })

  test('searches each line by a regular expression', async () => {
    const { store, ask } = await secretStore()
    await store.as(author).write('/c.md', 'first\nkey: 1\nlast')
    const select = { text: '^key: \\d$', regex: true }
    const { versions } = await ask('redaction.plan', { select })
    expect(versions.map(({ path }) => path)).toEqual(['/c.md'])
  })

  test('keeps current versions if asked to', async () => {
    const { store, ask } = await secretStore()
    const select = { text: 'key-1' }
    const { versions, current } = await ask('redaction.plan', { select })
    const kept = current[0]?.versionId ?? ''
    const confirmed = versions.map(({ versionId }) => versionId).filter((id) => id !== kept)
    await ask('redaction.run', { select, why: 'legal', current: 'keep', confirmed })
    expect((await store.read('/b.md'))?.content).toContain('key-1')
  })
})

describe('devices', () => {
  test('are added by card and fingerprint, changed and removed', async () => {
    const { ask } = await newConsole()
    const identity = await generateIdentity()
    const card = formatDeviceCard(identity, { name: 'laptop' })
    const fingerprint = formatId('device', identity.deviceId)
    const other = formatId('device', (await generateIdentity()).deviceId)
    const wrong = ask('devices.add', { card, role: 'reader', fingerprint: other })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_input' })
    const { deviceId } = await ask('devices.add', { card, role: 'reader', fingerprint })
    expect(deviceId).toBe(fingerprint)
    await ask('devices.changeRole', { deviceId, role: 'writer' })
    await ask('devices.rename', { deviceId, name: 'desk' })
    const of = async () =>
      (await ask('devices.list', {})).devices.find((one) => one.deviceId === deviceId)
    expect(await of()).toMatchObject({ role: 'writer', name: 'desk', removed: undefined })
    const removed = await ask('devices.remove', { deviceIds: [deviceId], recoveryKey: true })
    expect(removed.recoveryKey).toMatch(/^GLKR1-/)
    expect((await of())?.removed).toBeDefined()
  })

  test('show the grants that a change ends before it is made, and in its answer', async () => {
    const url = bareRemote()
    const owner = await firstClone(url)
    await sync(owner)
    const ask = askerOf(memberSubject(consoleUser(owner.store)))
    const granters: string[] = []
    const given: string[] = []
    for (let n = 0; n < 2; n += 1) {
      const granter = await joinClone(owner, url)
      granters.push(idOf(granter))
      given.push((await granter.store.as(author).grants.give({ label: 'ci' })).grantId)
      await granter.store.close()
    }
    await sync(owner)
    const [lowered = '', removed = ''] = granters
    const ends = (input: { deviceId: string; role?: 'reader' | 'writer' }) =>
      ask('devices.endsGrants', input)
    expect(await ends({ deviceId: lowered, role: 'writer' })).toEqual({ grants: [] })
    const first = { grants: [{ grantId: given[0], grantedBy: lowered, label: undefined }] }
    const second = { grants: [{ grantId: given[1], grantedBy: removed }] }
    expect(await ends({ deviceId: lowered, role: 'reader' })).toMatchObject(first)
    expect(await ends({ deviceId: removed })).toMatchObject(second)
    const change = await ask('devices.changeRole', { deviceId: lowered, role: 'reader' })
    expect(change.endsGrants).toMatchObject(first.grants)
    const removal = await ask('devices.remove', { deviceIds: [removed] })
    expect(removal.endsGrants).toMatchObject(second.grants)
    await owner.store.close()
  })
})

describe('sync', () => {
  test('names remotes, syncs with one, and forgets it', { tags: 'slow' }, async () => {
    const { ask } = await newConsole()
    const url = bareRemote()
    await ask('remotes.add', { name: 'origin', url })
    expect((await ask('sync.remotes', {})).remotes).toMatchObject([
      { name: 'origin', unsent: undefined },
    ])
    const report = await ask('sync.run', { remote: 'origin' })
    expect(report).toMatchObject({ remote: 'origin', sent: { commits: 1 } })
    expect((await ask('sync.remotes', {})).remotes).toMatchObject([{ unsent: 0 }])
    await ask('remotes.remove', { name: 'origin' })
    expect((await ask('sync.remotes', {})).remotes).toEqual([])
    await expect(ask('sync.run', {})).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('audit', () => {
  test('verifies with progress, and reports on screen and as CSV', async () => {
    const { store, ask } = await secretStore()
    expect(await ask('audit.verify', {})).toMatchObject({ commits: 4, versions: 3, memories: 2 })
    const state = await ask('audit.state', {})
    expect(state).toMatchObject({ storeId: store.id, commits: 4, isBehind: false, unconfirmed: [] })
    await store.as(author).write('/d.md', 'd')
    expect(await ask('audit.state', {})).toMatchObject({ commits: 4, isBehind: true })
    await ask('audit.verify', {})
    const first = await ask('audit.trail', { limit: 3 })
    expect(first).toMatchObject({ total: 5, data: [{ kind: 'change', created: 1 }, {}, {}] })
    const rest = await ask('audit.trail', { limit: 3, after: first.nextPage })
    expect(rest.data.map(({ kind }) => kind)).toEqual(['change', 'genesis'])
    expect((await ask('audit.trail', { who: 'AGENT-1' })).total).toBe(4)
    expect((await ask('audit.trail', { kind: 'redact' })).total).toBe(0)
    expect(JSON.stringify([first, rest])).not.toMatch(/a\.md|key-1/)
    await expect(ask('audit.trail', { after: '0'.repeat(40) })).rejects.toMatchObject({
      code: 'precondition_failed',
    })
    const { csv } = await ask('audit.csv', {})
    expect(csv.split('\r\n')[0]).toContain('type,time,event')
    expect(csv).not.toContain('/a.md')
  })

  test('continues if the request that began it ends', async () => {
    const { store } = await secretStore()
    const subject = memberSubject(consoleUser(store))
    const leaving = new AbortController()
    const left = subject.ask('audit.state', {}, { signal: leaving.signal })
    const others = ['audit.state', 'audit.trail'].map((name) => subject.ask(name, {}, {}))
    leaving.abort()
    await expect(left).rejects.toMatchObject({ code: 'cancelled' })
    expect(await Promise.all(others)).toMatchObject([{ commits: 4 }, { total: 4 }])
  })
})

describe('settings', () => {
  test('are changed one by one, the guard among them', async () => {
    const { ask } = await newConsole()
    await ask('settings.update', { name: 'ours', reason: 'new name' })
    await ask('settings.update', { description: 'text', memories: 5 })
    await ask('settings.update', { guard: true })
    expect(await ask('settings.show', {})).toMatchObject({
      name: 'ours',
      description: 'text',
      limits: { memories: 5 },
      guard: true,
    })
    const secret = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'b3BlbnNzaC1rZXk'.repeat(4)}\n`
    const refused = ask('memory.create', { path: '/k.md', content: secret })
    await expect(refused).rejects.toMatchObject({ code: 'sensitive_content' })
    const sha256 = sha256OfText(secret)
    await ask('guard.allow', { sha256, isAllowed: true })
    expect(await ask('settings.show', {})).toMatchObject({ allowed: [sha256], metadata: {} })
    await ask('memory.create', { path: '/allowed.md', content: secret })
    await ask('guard.allow', { sha256, isAllowed: false })
    expect((await ask('settings.show', {})).allowed).toEqual([])
    await ask('settings.update', { guard: false })
    expect((await ask('settings.show', {})).metadata).toEqual({})
    await ask('memory.create', { path: '/k.md', content: `first\n${secret}` })
    const { findings } = await ask('guard.check', {})
    expect(findings).toMatchObject([
      { path: '/allowed.md', line: 1 },
      { path: '/k.md', line: 2 },
    ])
    expect(JSON.stringify(findings)).not.toContain('b3Blbn')
  })
})

describe("an auditor's console", () => {
  test('has the trail, the devices and reports, and nothing else', { tags: 'slow' }, async () => {
    const { store, place } = await secretStore()
    const identity = await generateIdentity()
    const card = formatDeviceCard(identity, { name: 'auditor' })
    await store.as(author).devices.add(card, 'auditor', alone)
    await store.close()
    const { directory } = place
    const stateDirectory = `${place.stateDirectory}-auditor`
    const places = { directory, stateDirectory, identity }
    const subject = auditorSubject({
      places,
      clock: Date.now,
      sign: reportSigner(identity, Date.now),
    })
    const ask = askerOf(subject)
    const overview = await ask('store.overview', {})
    expect(overview).toMatchObject({ audience: 'auditor', role: 'auditor', access: 'read_only' })
    expect((await ask('devices.list', {})).devices.map(({ name }) => name)).toContain('auditor')
    expect((await ask('audit.verify', {})).commits).toBe(5)
    expect(await ask('audit.state', {})).toMatchObject({ commits: 5, isBehind: false })
    const member = await openStore(place)
    await member.as(author).write('/later.md', 'later')
    await member.close()
    expect(await ask('audit.state', {})).toMatchObject({ commits: 5, isBehind: true })
    await ask('audit.verify', {})
    expect(await ask('audit.state', {})).toMatchObject({ commits: 6, isBehind: false })
    const { html, signature } = await ask('audit.signed', {})
    expect(html).toContain('Trail verified')
    const signer = await verifyReport(Buffer.from(html), signature, 'unknown')
    expect(signer.deviceId).toBe(formatId('device', identity.deviceId))
    const { data } = await ask('audit.trail', { kind: 'keyring' })
    expect(data).toMatchObject([{ actions: [{ type: 'device_added', subject: 'auditor' }] }])
    const { csv } = await ask('audit.csv', {})
    expect(csv + JSON.stringify(overview)).not.toMatch(/a\.md|key-1|text-2/)
    for (const name of ['memories.tree', 'memory.create', 'sync.run'] as const) {
      await expect(subject.ask(name, {}, {})).rejects.toMatchObject({ code: 'not_found' })
    }
    const ending = new AbortController()
    setTimeout(() => ending.abort(), 20)
    for await (const _ of subject.watch(ending.signal))
      throw new Error('an auditor is told nothing')
  })
})
