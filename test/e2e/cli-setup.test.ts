// Setting a machine up: what could confuse a user is said, with what to do.

import { chmodSync, chownSync } from 'node:fs'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { newHomeWithStore } from './cli-process.ts'

describe('an identity file that others can open', () => {
  test.each([0o640, 0o604, 0o620])(
    'with mode %o is refused, and the text says why',
    async (mode) => {
      const home = await newHomeWithStore()
      chmodSync(home.identityFile, mode)
      for (const words of [['ls'], ['device', 'card'], ['init']]) {
        const { exitCode, stdout, stderr } = await home.call(words)
        expect([exitCode, stdout]).toEqual([8, ''])
        expect(stderr).toContain(`mode ${mode.toString(8)}`)
        expect(stderr).toMatch(/writes in the name of this machine.*`chmod 600 /s)
      }
      chmodSync(home.identityFile, 0o400)
      expect(await home.ok('ls')).toBe('')
    },
  )
})
