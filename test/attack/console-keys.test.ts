// T70: who reads the address of the console late, again, or guesses, gets no key; a key is of one
// console, and of no use once that is locked. Errors and answers name no content and no token.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import { memberSubject } from '../../src/operations/console/subject.ts'
import { consoleUser, openedConsole, tokenIn } from '../support/console.ts'
import { author, newStore } from '../support/stores.ts'

const questions = ['memories.tree', 'store.overview', 'memory.create', 'redaction.run', '__proto__']

async function trade(url: string, token: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/session`, { method: 'POST', headers, body: JSON.stringify({ token }) })
}

async function post(url: string, path: string, authorization?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
  return fetch(url + path, { method: 'POST', headers, body: '{}' })
}

describe('T70: tokens', () => {
  test('one lets one tab in, once', async () => {
    const { store } = await newStore()
    const { newAddress, url } = await openedConsole(store)
    const token = tokenIn(newAddress())
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await trade(url, token)).status).toBe(200)
    for (let again = 0; again < 3; again += 1) expect((await trade(url, token)).status).toBe(401)
  })

  test('of many trades at once one gets a key', async () => {
    const { store } = await newStore()
    const { newAddress, url } = await openedConsole(store)
    const token = tokenIn(newAddress())
    const answers = await Promise.all(Array.from({ length: 20 }, () => trade(url, token)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('one ends after a minute, and a clock that is set back prolongs nothing', async () => {
    const { store } = await newStore()
    let now = 1_000_000
    const { newAddress, url } = await openedConsole(store, { clock: () => now })
    const [late, back, early] = [newAddress(), newAddress(), newAddress()].map(tokenIn)
    now += 59_000
    expect((await trade(url, early)).status).toBe(200)
    now += 2000
    expect((await trade(url, late)).status).toBe(401)
    now -= 62_000
    expect((await trade(url, back)).status).toBe(401)
  })

  test('refuses anything that is not a token', async () => {
    const { store } = await newStore()
    const { newAddress, url } = await openedConsole(store)
    const token = tokenIn(newAddress())
    const guesses = [
      '',
      'a'.repeat(43),
      token.slice(1),
      `${token}a`,
      token.toUpperCase(),
      [token],
      { token },
      null,
      0,
      undefined,
    ]
    for (const guess of guesses) expect((await trade(url, guess)).status).toBe(401)
    expect((await trade(url, 'a'.repeat(300))).status).toBe(413)
    expect((await trade(url, token)).status).toBe(200)
  })
})

describe('T70: keys', () => {
  test('nothing but the trade is answered without one', async () => {
    const { store } = await newStore()
    await store.as(author).write('/secret.md', 'the secret')
    const { newKey, newAddress, url } = await openedConsole(store)
    const key = await newKey()
    const token = tokenIn(newAddress())
    const wrong = [undefined, 'Bearer ', `Bearer ${key}x`, `Bearer ${'a'.repeat(43)}`, key]
    wrong.push(`bearer ${key}`, `Basic ${key}`, `Bearer ${token}`, `Bearer  ${key}`)
    const paths = [
      '/token',
      '/lock',
      '/used',
      '/events',
      ...questions.map((name) => `/ask/${name}`),
    ]
    for (const authorization of wrong) {
      for (const path of paths) {
        const answer = await post(url, path, authorization)
        expect([path, authorization, answer.status]).toEqual([path, authorization, 401])
        expect(await answer.text()).not.toContain('secret')
      }
    }
    // It was never locked.
    expect((await post(url, '/used', `Bearer ${key}`)).status).toBe(200)
  })

  test('refuses the key of another console', async () => {
    const { store } = await newStore()
    const [one, other] = [await openedConsole(store), await openedConsole(store)]
    const key = await one.newKey()
    expect((await post(one.url, '/used', `Bearer ${key}`)).status).toBe(200)
    expect((await post(other.url, '/used', `Bearer ${key}`)).status).toBe(401)
  })

  test('lock ends the console, and events report it', async () => {
    const { store } = await newStore()
    const { newKey, url, locked, close } = await openedConsole(store)
    const key = await newKey()
    const events = await post(url, '/events', `Bearer ${key}`)
    expect((await post(url, '/lock', `Bearer ${key}`)).status).toBe(200)
    expect(await locked).toBe('user')
    await close()
    const lines = (await events.text()).trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ type: 'locked' })
    await expect(post(url, '/used', `Bearer ${key}`)).rejects.toThrow('fetch failed')
  })

  test('is locked when idle, even if the page asks by itself', async () => {
    const { store } = await newStore()
    const { newKey, url, locked } = await openedConsole(store, { idleMs: 300 })
    const key = await newKey()
    // To follow what happens, and to ask, is what a page does by itself.
    void post(url, '/events', `Bearer ${key}`).catch(() => undefined)
    const asking = setInterval(() => {
      void post(url, '/ask/store.overview', `Bearer ${key}`).catch(() => undefined)
    }, 50)
    expect(await locked).toBe('idle')
    clearInterval(asking)
  })
})

describe('T70: logs and errors', () => {
  test('errors of questions quote neither the input nor a memory', async () => {
    const { store } = await newStore()
    await store.as(author).write('/other.md', 'unrelated')
    const shown = await openedConsole(store)
    const key = await shown.newKey()
    const inputs: readonly (readonly [string, unknown])[] = [
      ['memory.show', { memoryId: 'canary-text' }],
      ['memory.show', { memoryId: 5, canary: 'canary-text' }],
      ['memory.create', { path: 'canary-text', content: 'canary-text' }],
      ['memory.update', { memoryId: 'mem_x', content: 'canary-text', expectedSha256: 'x' }],
      ['redaction.plan', { select: { text: '(canary-text', regex: true } }],
      ['memories.search', { query: '(canary-text', regex: true }],
      ['timeline.groups', { filter: {}, timeZone: 'canary-text' }],
      ['canary-text', {}],
    ]
    for (const [name, input] of inputs) {
      const { error } = await shown.ask(key, name, input)
      expect([name, typeof error?.code]).toEqual([name, 'string'])
      const { path: _, ...told } = error ?? {}
      expect(JSON.stringify(told)).not.toContain('canary')
    }
  })

  test('a bug reveals nothing but its existence', async () => {
    const { store } = await newStore()
    const subject = {
      ...memberSubject(consoleUser(store)),
      ask: () => Promise.reject(new Error('canary-text at /home/somebody')),
    }
    const shown = await openedConsole(store, { subject })
    const { error } = await shown.ask(await shown.newKey(), 'memories.tree', {})
    expect(error?.code).toBe('unexpected')
    expect(JSON.stringify(error)).not.toMatch(/canary|somebody/)
  })
})
