// What of paths is no row of the corpus: long ones.

import { expect, test } from 'vitest'
import { outcomeOf, rig } from './memory-tool/rig.ts'

const tool = rig()

test.each(['x', '/a', '%25', '../', '/..', '\\', '\n'])(
  'a megabyte of %j is refused and not echoed whole',
  async (unit) => {
    const path = `/memories/${unit.repeat(1_000_000 / unit.length)}`
    const outcome = await outcomeOf(tool.handlers.view({ path }))
    expect(outcome.refused).toBe(true)
    expect(String(outcome.text).length).toBeLessThan(2000)
  },
)
