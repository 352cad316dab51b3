// One deliberate defect, put into a source file while the tests load it: what `npm run mutants`
// gives to a run in the variable MUTANT. Nothing on the disk changes, so that runs may go on side
// by side. Child processes and worker threads load dist/, where the defect is not.

import { readFileSync } from 'node:fs'
import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'
import { z } from 'zod'

/** The one occurrence of `line` in `file`, named from the root, becomes `becomes`. */
const mutationSchema = z.object({ file: z.string(), line: z.string(), becomes: z.string() })
export type Mutation = Readonly<z.infer<typeof mutationSchema>>

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The source with the defect. Throws an Error if the line is not in it exactly once. */
export function mutate(source: string, { file, line, becomes }: Mutation): string {
  const at = source.indexOf(line)
  if (at === -1) throw new Error(`${file} does not hold: ${line}`)
  if (source.includes(line, at + 1)) throw new Error(`${file} holds more than once: ${line}`)
  return source.slice(0, at) + becomes + source.slice(at + line.length)
}

/** The plugins of a run: none unless MUTANT holds a `Mutation` as JSON. */
export function mutantPlugins(): Plugin[] {
  const given = env['MUTANT']
  if (given === undefined) return []
  const mutation = mutationSchema.parse(JSON.parse(given))
  // Refused at once: a run without the defect would look like one that found nothing.
  mutate(readFileSync(root + mutation.file, 'utf8'), mutation)
  return [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(code, id) {
        return id.split('?')[0] === root + mutation.file ? mutate(code, mutation) : undefined
      },
    },
  ]
}
