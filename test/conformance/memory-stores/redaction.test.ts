// Memory Stores API §8: redactions, which erase what a version said and leave that it was there.

import { describe, expect, test } from 'vitest'
import { expectDone, expectRefused } from '../../support/http-caller.ts'
import { onServers } from '../../support/running-server.ts'
import { apiActor, idsOf, nextMillisecond, timestamp } from './objects.ts'

onServers('redaction', (at) => {
  /** A memory of two versions, the older of which can be redacted. */
  const given = async () => {
    const store = await at.store()
    const { id, memory_version_id: old } = await store.create('/a', 'secret')
    const { memory_version_id: current } = await store.update(id, { content: 'public' })
    const redact = (version: string) => `${store.path}/memory_versions/${version}/redact`
    return { store, id, old, current, redact }
  }

  test('8.1: content and path are null for good, and the rest is kept', async () => {
    const { store, id, old } = await given()
    const before = await store.get(`/memory_versions/${old}`)
    const memory = await store.get(`/memories/${id}`)
    const redacted = await store.redact(old)
    expect(redacted).toEqual({
      ...before,
      content: null,
      content_sha256: null,
      content_size_bytes: null,
      path: null,
      redacted_at: timestamp,
      redacted_by: apiActor(at.key.id),
    })
    expect(Date.parse(redacted.redacted_at)).toBeGreaterThanOrEqual(Date.parse(before.created_at))
    expect(await store.get(`/memory_versions/${old}?view=full`)).toEqual(redacted)
    expect((await store.versions('view=full'))[1]).toEqual(redacted)
    expect(await store.get(`/memories/${id}`)).toEqual(memory)
  })

  test('8.1: filters still find it', async () => {
    const { store, id, old } = await given()
    await store.redact(old)
    for (const query of [`memory_id=${id}`, 'operation=created', `api_key_id=${at.key.id}`]) {
      expect(idsOf(await store.versions(query))).toContain(old)
    }
  })

  test('3.5: redacted_by is the redactor, and created_by the author', async () => {
    const { store, old } = await given()
    const redacted = await store.as(at.other).redact(old)
    expect(redacted.redacted_by).toEqual(apiActor(at.otherKey.id))
    expect(redacted.created_by).toEqual(apiActor(at.key.id))
  })

  test('8.1: paths of versions are erased too: the old name of a renamed memory', async () => {
    const store = await at.store()
    const { id, memory_version_id } = await store.create('/secret-name', 'a')
    await store.update(id, { path: '/public-name' })
    await store.redact(memory_version_id)
    expect(JSON.stringify(await store.versions('view=full'))).not.toContain('secret-name')
  })

  describe('8.2: the current version of a live memory', () => {
    test('it cannot be redacted', async () => {
      const { store, id, current, redact } = await given()
      expectRefused(await at.caller.post(redact(current)), 400)
      expect((await store.get(`/memory_versions/${current}`)).redacted_at).toBeNull()
      expect((await store.get(`/memories/${id}`)).content).toBe('public')
    })

    test('another version of equal content can', async () => {
      const store = await at.store()
      const { id, memory_version_id: first } = await store.create('/a', 'same')
      await store.update(id, { content: 'between' })
      await store.update(id, { content: 'same' })
      expect((await store.redact(first)).content_sha256).toBeNull()
      expect((await store.get(`/memories/${id}`)).content).toBe('same')
    })

    test('it can be redacted once there is a newer version', async () => {
      const { store, id, current, redact } = await given()
      expectRefused(await at.caller.post(redact(current)), 400)
      await store.update(id, { content: 'newer' })
      expect((await store.redact(current)).content).toBeNull()
    })
  })

  test('8.3: after a deletion every version may be redacted, the last too', async () => {
    const { store, id } = await given()
    await store.delete(id)
    for (const version of idsOf(await store.versions())) await store.redact(version)
    for (const version of await store.versions('view=full')) {
      expect(version).toMatchObject({
        memory_id: id,
        path: null,
        content: null,
        content_sha256: null,
        content_size_bytes: null,
        redacted_at: timestamp,
        redacted_by: apiActor(at.key.id),
      })
    }
  })

  test('8.4: redacting twice changes nothing', async () => {
    const { store, old } = await given()
    const first = await store.redact(old)
    await nextMillisecond()
    expect(await store.redact(old)).toEqual(first)
    expect(await store.as(at.other).redact(old)).toEqual(first)
  })

  test('8.4: an archived store may be redacted', async () => {
    const { store, old } = await given()
    expectDone(await at.caller.post(`${store.path}/archive`))
    expect((await store.redact(old)).path).toBeNull()
  })

  test.each(['read_write', 'read_only'])('8.4: a session cannot redact: %s', async (access) => {
    const { store, old, redact } = await given()
    const resource = { type: 'memory_store', memory_store_id: store.id, access }
    const { token } = await at.session([resource])
    expectRefused(await at.as(token).post(redact(old)), 403)
    expect((await store.get(`/memory_versions/${old}`)).content).toBe('secret')
  })

  test('8.1: ten concurrent redactions', async () => {
    const store = await at.store()
    const { id } = await store.create('/a', '0')
    for (let n = 1; n <= 10; n++) await store.update(id, { content: `${n}` })
    const old = idsOf(await store.versions()).slice(1)
    await Promise.all(old.map((version) => store.redact(version)))
    const shown = (await store.versions('view=full')).map(({ content }) => content)
    expect(shown).toEqual(['10', ...Array(10).fill(null)])
  })
})
