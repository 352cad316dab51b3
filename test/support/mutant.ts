// One deliberate defect, put into a source file as the tests load it: `npm run mutants` passes it
// in the variable MUTANT. Nothing on the disk changes, so that several runs can work at once. Child
// processes and worker threads load dist/, which does not have the defect.

import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'
import { z } from 'zod'
import { apply } from '../../scripts/mutants/locate.ts'

const editSchema = z.object({
  file: z.string(),
  start: z.number(),
  end: z.number(),
  by: z.string(),
})
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The plugins of a run: none unless MUTANT holds an `Edit` as JSON. */
export function mutantPlugins(): Plugin[] {
  const given = env['MUTANT']
  if (given === undefined) return []
  const edit = editSchema.parse(JSON.parse(given))
  return [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(code, id) {
        return id.split('?')[0] === root + edit.file ? apply(code, edit) : undefined
      },
    },
  ]
}
