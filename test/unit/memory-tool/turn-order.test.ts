// The order of the calls of a turn: each waits for all calls of the other kind before it, failing
// ones included, and for none of its own kind.

import { describe, expect, test } from 'vitest'
import { turnOrder } from '../../../src/memory-tool/run-command.ts'

/** Calls that the test ends, and the names of those that have begun. */
function calls() {
  const order = turnOrder()
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  function call(effect: 'read' | 'write', name: string): Promise<string> {
    return order(effect, () => {
      begun.push(name)
      return new Promise((resolve, reject) => {
        ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)))
      })
    })
  }
  /** Ends a call and lets all run that waited for it. */
  async function end(name: string, error?: Error): Promise<void> {
    const finish = ends.get(name)
    expect(finish, `${name} has begun`).toBeDefined()
    finish?.(error)
    await settled()
  }
  return { call, end, begun }
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

describe('the order of a turn', () => {
  test('calls of one kind do not wait for each other', async () => {
    const { call, begun } = calls()
    void call('write', 'w1')
    void call('write', 'w2')
    void call('write', 'w3')
    await settled()
    expect(begun).toEqual(['w1', 'w2', 'w3'])
  })

  test('a read waits for every write before it, not only for the last one', async () => {
    const { call, end, begun } = calls()
    void call('write', 'w1')
    void call('write', 'w2')
    void call('read', 'r1')
    void call('read', 'r2')
    await settled()
    await end('w2')
    expect(begun).toEqual(['w1', 'w2'])
    await end('w1')
    expect(begun).toEqual(['w1', 'w2', 'r1', 'r2'])
  })

  test('a write waits for every read before it, not only for the last one', async () => {
    const { call, end, begun } = calls()
    void call('read', 'r1')
    void call('read', 'r2')
    void call('write', 'w')
    await settled()
    await end('r2')
    expect(begun).toEqual(['r1', 'r2'])
    await end('r1')
    expect(begun).toEqual(['r1', 'r2', 'w'])
  })

  test('a call waits for all that was before it, however often the kind changed', async () => {
    const { call, end, begun } = calls()
    void call('write', 'w1')
    void call('read', 'r1')
    void call('write', 'w2')
    void call('read', 'r2')
    await settled()
    expect(begun).toEqual(['w1'])
    await end('w1')
    expect(begun).toEqual(['w1', 'r1'])
    await end('r1')
    expect(begun).toEqual(['w1', 'r1', 'w2'])
    await end('w2')
    expect(begun).toEqual(['w1', 'r1', 'w2', 'r2'])
  })

  test('a call that fails fails alone, and those after it still wait for the others', async () => {
    const { call, end, begun } = calls()
    const other = call('write', 'w1')
    const failing = call('write', 'w2')
    const read = call('read', 'r')
    await settled()
    const outcome = failing.catch(String)
    await end('w2', new Error('refused'))
    expect(await outcome).toBe('Error: refused')
    expect(begun).toEqual(['w1', 'w2'])
    await end('w1')
    expect(begun).toEqual(['w1', 'w2', 'r'])
    await end('r')
    expect(await Promise.all([other, read])).toEqual(['w1', 'r'])
  })
})
