// The entry of the thread that regex-thread.ts starts: matches one regular expression against the
// texts that it receives, line by line. Decides nothing: its creator ends it when it takes too
// long.

import { workerData } from 'node:worker_threads'
import { doJobs } from '../../worker-threads.ts'
import type { RegexMatch, RegexText } from './regex-thread.ts'

// Untyped in node; regex-thread.ts alone sets it.
const source: string = workerData
const pattern = new RegExp(source, 'iu')

doJobs(matchAll)

/** Undefined if the engine gives up: an expression may be valid and too large to be compiled. */
function matchAll(texts: readonly RegexText[]): readonly RegexMatch[] | undefined {
  try {
    return texts.map(match)
  } catch {
    return undefined
  }
}

function match({ path, content }: RegexText): RegexMatch {
  let lines = 0
  let spot: RegexMatch['spot']
  for (const [index, line] of content.split('\n').entries()) {
    const found = pattern.exec(line)
    if (found === null) continue
    lines += 1
    spot ??= { line: index + 1, at: found.index }
  }
  return { lines, spot, path: pattern.test(path) }
}
