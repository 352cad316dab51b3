// What every implementation of OwnFiles must do.

import { describe, expect, test } from 'vitest'
import { equalBytes } from '../../src/bytes.ts'
import type { OwnFiles } from '../../src/store/local/own-files.ts'

const one = Uint8Array.of(1, 0, 255)
const two = Uint8Array.of(2)

/** `open` gives handles on the same files, which are missing at first. */
export function describeOwnFiles(kind: string, open: () => Promise<() => OwnFiles>): void {
  describe(`own files ${kind}`, () => {
    test('are missing at first', async () => {
      const files = (await open())()
      expect(await files.hasChanged('state')).toBe(false)
      expect(await files.read('state')).toBeUndefined()
      expect(await files.writtenAt('state')).toBeUndefined()
      await files.remove('state')
      expect(await files.read('state')).toBeUndefined()
    })

    test('are read back by every handle, each under its name', async () => {
      const handle = await open()
      const files = handle()
      expect(await files.write('state', one)).toBe(true)
      expect(await files.write('anchor', two)).toBe(true)
      for (const reader of [files, handle()]) {
        expect(await reader.read('state')).toEqual(one)
        expect(await reader.read('anchor')).toEqual(two)
        expect(await reader.read('state-changes')).toBeUndefined()
      }
      expect(await files.writtenAt('anchor')).toBeGreaterThan(0)
    })

    test('keep large and empty contents, and no later change to the bytes', async () => {
      const handle = await open()
      const large = new Uint8Array(3_000_000).map((_, at) => at % 251)
      const given = large.slice()
      await handle().write('state', given)
      given.fill(0)
      const found = await handle().read('state')
      expect(found !== undefined && equalBytes(found, large)).toBe(true)
      await handle().write('reads', new Uint8Array())
      expect(await handle().read('reads')).toEqual(new Uint8Array())
    })

    test('have changed for a handle once another one has written', async () => {
      const handle = await open()
      const [a, b] = [handle(), handle()]
      await a.write('remotes', one)
      expect(await a.hasChanged('remotes')).toBe(false)
      expect(await b.hasChanged('remotes')).toBe(true)
      expect(await b.hasChanged('anchor')).toBe(false)
      await b.read('remotes')
      expect(await b.hasChanged('remotes')).toBe(false)
      expect(await b.write('remotes', two)).toBe(true)
      expect(await a.hasChanged('remotes')).toBe(true)
      expect(await a.read('remotes')).toEqual(two)
    })

    test('are missing once they were removed, and can be written again', async () => {
      const handle = await open()
      const [a, b] = [handle(), handle()]
      await a.write('state', one)
      await b.read('state')
      await a.remove('state')
      expect(await a.hasChanged('state')).toBe(false)
      expect(await b.hasChanged('state')).toBe(true)
      expect(await b.read('state')).toBeUndefined()
      expect(await b.write('state', two)).toBe(true)
      expect(await a.read('state')).toEqual(two)
    })
  })
}

/** What those must do in addition that several servers write at the same time. */
export function describeSharedOwnFiles(kind: string, open: () => Promise<() => OwnFiles>): void {
  describe(`own files ${kind}, of several servers`, () => {
    test('are written only over the version that the handle has seen', async () => {
      const handle = await open()
      const [a, b] = [handle(), handle()]
      expect(await a.write('anchor', one)).toBe(true)
      expect(await b.write('anchor', two)).toBe(false)
      expect(await b.read('anchor')).toEqual(one)
      expect(await b.write('anchor', two)).toBe(true)
      expect(await a.write('anchor', one)).toBe(false)
      expect(await a.read('anchor')).toEqual(two)
    })

    test('have one winner of many writes at once', async () => {
      const handle = await open()
      const handles = Array.from({ length: 8 }, handle)
      const won = await Promise.all(
        handles.map((files, n) => files.write('state', Uint8Array.of(n))),
      )
      expect(won.filter(Boolean)).toHaveLength(1)
      expect(await handle().read('state')).toEqual(Uint8Array.of(won.indexOf(true)))
    })

    test('cannot be written by a handle that saw them before they were removed', async () => {
      const handle = await open()
      const [a, b, late] = [handle(), handle(), handle()]
      await a.write('state', one)
      await b.read('state')
      // It has seen that the file is missing.
      expect(await late.read('reads')).toBeUndefined()
      await a.remove('state')
      await a.remove('reads')
      expect(await b.write('state', two)).toBe(false)
      expect(await late.write('reads', two)).toBe(false)
      expect(await handle().read('state')).toBeUndefined()
      expect(await handle().read('reads')).toBeUndefined()
    })
  })
}
