// Whether a test would notice each sync if it were left out: for every call in disk/, git/ and
// store/ that makes something durable, the kept list must have a mutant that takes out this call
// and no other. What no mutant can be listed for, since nothing is ever lost without it, is
// superfluous.

import type { MutatedFile } from '../../scripts/mutants/mutant.ts'
import { type SourceFile, type Violation, violation } from './source.ts'

/** Of `Disk`, and of those that pass it on; `me.sync` exchanges with a remote. */
const names = 'sync|syncDirectory|harden|scrub|fenceJournal'
const syncCall = new RegExp(
  `(?:(?<!\\bas\\([\\w.]*\\))\\.(?:${names})|(?<!function )\\bsyncIfReadable)\\(`,
  'g',
)
const durableFolders = /^src\/(?:disk|git|store)\//

export function durabilityLaw(file: SourceFile, listed: readonly MutatedFile[]): Violation[] {
  if (!durableFolders.test(file.path)) return []
  const calls = callsIn(file.bare)
  const mutants = listed.filter((one) => `src/${one.file}` === file.path)
  const takenOut = new Set(
    mutants
      .flatMap((one) => one.mutants)
      .flatMap(({ line, becomes }) => {
        const start = file.text.indexOf(line)
        const within = calls.filter((at) => start !== -1 && at >= start && at < start + line.length)
        return within.length === 1 && callsIn(becomes).length === 0 ? within : []
      }),
  )
  const missing = calls.filter((at) => !takenOut.has(at))
  return missing.map((at) => violation(file, at, 'list a mutant without this sync, or remove it'))
}

function callsIn(text: string): readonly number[] {
  return [...text.matchAll(syncCall)].map(({ index }) => index)
}
