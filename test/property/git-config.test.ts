// Git's config file as our reader understands it, against git itself: files that both accept mean
// the same to both. A setting that only git sees could be an extension that changes the repository.

import { writeFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { parseGitConfig } from '../../src/git/refs/git-config.ts'
import { full, seed } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const line = fc.oneof(
  fc.constantFrom('[core]', '[Core]', '[extensions] noop', '[a "B c"]', '[a "\\\\"]', '[a.B]', ''),
  fc.constantFrom('bare = true', 'bare', 'Bare=', '\tworktree = x y  ', 'objectformat = sha256'),
  fc
    .array(
      fc.constantFrom('a', 'b', ' ', '=', '"', '\\', '\\\\', '\\n', '\\"', '#', ';', '[', ']', '-'),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
  fc
    .array(fc.constantFrom('x', ' ', '"', '\\', '\\\\', '\\t', '#', ';'), { maxLength: 8 })
    .map((parts) => `key = ${parts.join('')}`),
)
const config = fc
  .tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\n', '\r\n', '\\\n'))
  .map(([lines, end]) => `[core]\n${lines.map((each) => each + end).join('')}\n`)

const needsGit = requires('git')

test.skipIf(needsGit.missing)(
  `settings are those that git lists${needsGit.note}`,
  { tags: 'slow' },
  () => {
    const directory = temporaryDirectory()
    const property = fc.property(config, (text) => {
      const ours = settingsOf(text)
      fc.pre(ours !== undefined)
      writeFileSync(`${directory}/config`, text)
      const theirs = listed(directory)
      // Refused by git: then no git works on the repository, whatever we think.
      fc.pre(theirs !== undefined)
      expect(plain(ours)).toEqual(plain(theirs))
    })
    // A comment ends with its line, also before a backslash.
    const examples: [string][] = [['[core]\n# \\\n[extensions]\nobjectformat = sha256\n']]
    fc.assert(property, {
      examples,
      seed,
      numRuns: full ? 5000 : 100,
      maxSkipsPerRun: 1000,
    })
  },
)

/** Git's releases differ in the white space that they keep in and after a value. */
function plain(settings: readonly string[] | undefined): readonly string[] | undefined {
  return settings?.map((each) => each.replaceAll('\t', ' ').trim()).toSorted()
}

/** As `name=value`; undefined if we refuse the file. */
function settingsOf(text: string): readonly string[] | undefined {
  try {
    const settings = [...parseGitConfig(text)]
    return settings.flatMap(([name, values]) => values.map((value) => `${name}=${value}`))
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** The same from git; undefined if it refuses the file. */
function listed(directory: string): readonly string[] | undefined {
  try {
    const output = git(['config', '--file', 'config', '--list', '--null'], directory)
    return output
      .split('\0')
      .slice(0, -1)
      .map((entry) => (entry.includes('\n') ? entry.replace('\n', '=') : `${entry}=true`))
  } catch {
    return undefined
  }
}
