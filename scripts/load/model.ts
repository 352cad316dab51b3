// What has to be in the stores: each update adds a line of its own to a memory, on condition that
// the memory is as it was read. So a memory holds each acknowledged line once, and of all updates
// of one state at most one was acknowledged.

import { createHash } from 'node:crypto'

/** Lost: nothing is known, because the server was killed meanwhile. */
export type Outcome = 'acknowledged' | 'refused' | 'lost'

export interface Memory {
  readonly storeId: string
  readonly memoryId: string
  /** Every line that was sent, once its outcome is known. */
  readonly lines: Map<string, Outcome>
  /** By hash of the state that they changed, how many updates were acknowledged. */
  readonly winners: Map<string, number>
}

export function newMemory(storeId: string, memoryId: string): Memory {
  return { storeId, memoryId, lines: new Map(), winners: new Map() }
}

export function note(memory: Memory, line: string, base: string, outcome: Outcome): void {
  memory.lines.set(line, outcome)
  if (outcome !== 'acknowledged') return
  memory.winners.set(base, (memory.winners.get(base) ?? 0) + 1)
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** What is wrong with a memory as it was read at the end. `versions` are those that it has. */
export function problemsOf(memory: Memory, content: string, versions: number): readonly string[] {
  const found = content.split('\n').slice(1, -1)
  const count = new Map<string, number>()
  for (const line of found) count.set(line, (count.get(line) ?? 0) + 1)
  const problems: string[] = []
  for (const [line, outcome] of memory.lines) {
    const times = count.get(line) ?? 0
    count.delete(line)
    if (outcome === 'acknowledged' && times === 0) problems.push(`${line} is lost`)
    if (outcome === 'refused' && times > 0) problems.push(`${line} was refused and is there`)
    if (times > 1) problems.push(`${line} is there ${times} times`)
  }
  for (const line of count.keys()) problems.push(`${line} was never sent`)
  for (const winners of memory.winners.values()) {
    if (winners > 1) problems.push(`${winners} updates of one state were acknowledged`)
  }
  if (versions !== found.length + 1) {
    problems.push(`it has ${versions} versions for ${found.length} updates`)
  }
  return problems.map((problem) => `${memory.storeId} ${memory.memoryId}: ${problem}`)
}
