// The known answers (known-answers/) with the ports of the web, bundled as `gitlocket/web` is.

import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { bundleForWeb } from '../../scripts/web-bundle.mjs'
import { checkKnownAnswers } from './known-answers/check.ts'
import { temporaryDirectory } from './temporary.ts'

/** A directory with the bundle, whose modules export `checkKnownAnswers`. */
export async function answersBundle(): Promise<string> {
  const table = fileURLToPath(new URL('known-answers/check.ts', import.meta.url))
  const directory = temporaryDirectory()
  await bundleForWeb(
    `import { checkKnownAnswers as check } from '${table}'
    export const checkKnownAnswers = async () => {
      await begin()
      return check()
    }`,
    directory,
  )
  return directory
}

/** Whether a report has as many right answers as one of Node. */
export async function expectAnswers(report: unknown): Promise<void> {
  const { count } = await checkKnownAnswers()
  expect(report).toEqual({ isNode: false, count, wrong: [] })
}
