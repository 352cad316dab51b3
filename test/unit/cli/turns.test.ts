// Turns of the processes of one user at files outside every store.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inTurn } from '../../../src/cli/setup/turns.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test('a turn begins when the one before it has ended', async () => {
  const place = { stateDirectory: temporaryDirectory() }
  const seen: string[] = []
  const work = async (name: string): Promise<string> => {
    seen.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(`${name} ends`)
    return name
  }
  expect(
    await Promise.all(['a', 'b'].map(async (name) => inTurn(place, () => work(name)))),
  ).toEqual(['a', 'b'])
  const [first, second] = seen[0] === 'a begins' ? ['a', 'b'] : ['b', 'a']
  expect(seen).toEqual([first, second].flatMap((name) => [`${name} begins`, `${name} ends`]))
  expect(readdirSync(join(place.stateDirectory, 'turns'))).toEqual([])
})

test('work that fails ends its turn', async () => {
  const place = { stateDirectory: temporaryDirectory() }
  const failed = inTurn(place, async () => Promise.reject(new RangeError('no')))
  await expect(failed).rejects.toBeInstanceOf(RangeError)
  expect(await inTurn(place, async () => Promise.resolve(1))).toBe(1)
})

test('a process that is killed in its turn stops no other', { tags: 'slow' }, async () => {
  const place = { stateDirectory: temporaryDirectory() }
  const module = new URL('../../../dist/cli/setup/turns.js', import.meta.url).href
  const program = `
    const { inTurn } = await import(${JSON.stringify(module)})
    await inTurn(${JSON.stringify(place)}, () => new Promise(() => {
      console.log('begun')
      setInterval(() => undefined, 1000)
    }))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  await once(child.stdout, 'data')
  expect(readdirSync(join(place.stateDirectory, 'turns'))).toContain('lock')
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(await inTurn(place, async () => Promise.resolve(1))).toBe(1)
  expect(readdirSync(join(place.stateDirectory, 'turns'))).toEqual([])
})
