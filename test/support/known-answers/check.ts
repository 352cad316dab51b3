// What the ports of src/platform and the cryptography over them must answer wherever they run: in
// Node, in a browser and in a Worker. The tests bundle this file with the ports of the web.

import { toHex } from '../../../src/bytes.ts'
import { hasCiphers } from '../../../src/platform/crypto.ts'
import { cryptoAnswers } from './crypto.ts'
import { portAnswers } from './ports.ts'

export interface AnswerReport {
  /** Whether the ports are those of Node. */
  readonly isNode: boolean
  readonly count: number
  /** Each wrong answer, with its name. */
  readonly wrong: readonly string[]
}

export async function checkKnownAnswers(): Promise<AnswerReport> {
  const rows = [...cryptoAnswers, ...portAnswers]
  const wrong: string[] = []
  for (const [name, answer, run] of rows) {
    const given = await answerOf(run)
    if (given !== answer) wrong.push(`${name}: ${given}`)
  }
  return { isNode: hasCiphers, count: rows.length, wrong }
}

/** Bytes in hex. Platforms word their errors differently, and all that is asked is a refusal. */
async function answerOf(run: () => unknown): Promise<string> {
  try {
    const value = await run()
    return value instanceof Uint8Array ? toHex(value) : String(value)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return /^[a-z_]+$/.test(code) ? code : 'refused'
  }
}
