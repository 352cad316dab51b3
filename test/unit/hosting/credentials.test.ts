// API keys and sessions: who a token is of, until it is revoked or expires, and what a session
// reaches.

import { copyFileSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openHostAdministration } from '../../../src/hosting/administration.ts'
import { callerOf, newHost, newToken, settings } from '../../support/hosts.ts'

test('a token is that of its key, and no other text is', async () => {
  const { host, token, caller, place } = await newHost()
  expect(token).toMatch(/^glk_[0-9a-z]{26}_[\w-]{43}$/)
  expect(caller).toMatchObject({ actor: { type: 'api', id: caller.keyId }, attached: undefined })
  expect(caller.keyId).toMatch(/^apikey_[0-9a-z]{26}$/)
  const other = await newToken(place)
  const swapped = token.slice(0, 31) + other.slice(31)
  const kind = token.replace('glk', 'gls')
  for (const text of ['', token.slice(0, -1), `${token}A`, token.toUpperCase(), swapped, kind]) {
    expect(await host.authenticate(text), text).toBeUndefined()
  }
  expect(readFileSync(`${place.dataDirectory}/credentials`, 'latin1')).not.toContain(token)
  await host.close()
})

test('old credentials bring no revoked key back, while it runs and when it starts', async () => {
  const { host, token, caller, place, notices } = await newHost()
  const file = `${place.dataDirectory}/credentials`
  copyFileSync(file, `${file}.old`)
  const administration = await openHostAdministration(place)
  await administration.revokeKey(caller.keyId)
  await administration.close()
  expect(await host.authenticate(token)).toBeUndefined()
  copyFileSync(`${file}.old`, file)
  expect(await host.authenticate(token)).toBeUndefined()
  expect(notices).toMatchObject([{ about: 'credentials', error: { code: 'rolled_back' } }])
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test(
  'keeps the instructions of a session sealed, a million characters for each key',
  { tags: 'slow' },
  async () => {
    const { host, caller, place } = await newHost()
    const ids = await Promise.all(
      Array.from({ length: 8 }, async () => (await host.create(caller, settings)).storeId),
    )
    const resources = ids.map((id) => {
      return { memory_store_id: id, access: 'read_only' as const, instructions: 'x'.repeat(4096) }
    })
    const made = await host.createSession(caller, { resources, expiresIn: 60 })
    expect((await callerOf(host, made.token)).instructions.get(ids[7] ?? '')).toBe('x'.repeat(4096))
    expect(readFileSync(`${place.dataDirectory}/credentials`, 'latin1')).not.toContain('xxxx')
    for (let count = 2; count <= 30; count += 1) {
      await host.createSession(caller, { resources, expiresIn: 60 })
    }
    const tooMuch = host.createSession(caller, { resources, expiresIn: 60 })
    await expect(tooMuch).rejects.toMatchObject({ code: 'rate_limited' })
    await host.endSession(caller, made.sessionId)
    await host.createSession(caller, { resources, expiresIn: 60 })
    await host.close()
  },
)
