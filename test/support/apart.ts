// Small stores whose clones were apart, for tests of questions about such a past.

import { formatId } from '../../src/format/id.ts'
import { catchUp } from '../../src/store/history/catch-up.ts'
import { readMemory, readVersionContent } from '../../src/store/history/contents.ts'
import { History } from '../../src/store/history/history.ts'
import type { RevertSource } from '../../src/store/revert/revert-plan.ts'
import { Branches, type MemoryThen, type Node, type Step } from './branches.ts'

export async function historyAt({ source }: Branches, { oid }: Node): Promise<History> {
  const history = new History()
  await catchUp(history, source, oid, {})
  return history
}

export function versionOf(node: Node | undefined, memory: string): string {
  const row = node?.rows.find(({ memoryId }) => memoryId === node.idOf(memory))
  return formatId('version', row?.versionId ?? '')
}

export function thenOf(node: Node, memory: string): MemoryThen {
  const found = node.memories.get(node.idOf(memory))
  if (found === undefined) throw new Error('The memory is not there')
  return found
}

export function revertSource({ contents }: Branches, history: History, head: Node): RevertSource {
  return {
    history,
    snapshot: head.snapshot,
    now: Date.now(),
    readVersion: (entry) => readVersionContent(contents, entry) ?? '',
    readMemory: (memory) => readMemory(contents, memory),
    report: async () => undefined,
  }
}

export interface Apart {
  readonly branches: Branches
  readonly before: Node
  readonly ours: Node
  readonly theirs: Node
  readonly merge: Node
}

export interface Texts {
  readonly before: string
  readonly ours: string | undefined
  readonly theirs: string | undefined
  readonly merged: string
}

const times = { before: 10, ours: 20, theirs: 30, merge: 40 }

/** One memory that two devices changed, each in a session named as its side, and the merge. */
export async function apart(texts: Texts): Promise<Apart> {
  const branches = await Branches.start(3)
  const at = (name: keyof typeof times, by: number): Step => {
    return { by, time: branches.root.time + times[name], session: name }
  }
  const write = (on: Node, step: Step, content: string | undefined): Promise<Node> => {
    return branches.write(on, step, [{ memory: 'm', path: '/m', content }])
  }
  const before = await write(branches.root, at('before', 0), texts.before)
  const ours = await write(before, at('ours', 0), texts.ours)
  const theirs = await write(before, at('theirs', 1), texts.theirs)
  const merge = await branches.merge(ours, theirs, at('merge', 2), () => {
    return { path: '/m', content: texts.merged }
  })
  if (merge === undefined) throw new Error('The sides are not apart')
  return { branches, before, ours, theirs, merge }
}

/** Two devices created a memory at one path; the merge made one of them. */
export async function joined(): Promise<Omit<Apart, 'before'>> {
  const branches = await Branches.start(3)
  const { root } = branches
  const create = (by: number, memory: string, session: string): Promise<Node> => {
    const write = { memory, path: '/m', content: `${session}\n` }
    return branches.write(root, { by, time: root.time + by, session }, [write])
  }
  const [ours, theirs] = [await create(0, 'first', 'ours'), await create(1, 'second', 'theirs')]
  const rows = [
    { memory: 'first', node: ours, content: 'ours\ntheirs\n' },
    { memory: 'second', node: theirs, content: undefined },
  ].map(({ memory, node, content }) => {
    return branches.settledRow(node.idOf(memory), thenOf(node, memory), {
      memory,
      path: '/m',
      content,
    })
  })
  const step = { by: 2, time: root.time + 9, session: 'merge' }
  const merge = await branches.merge(ours, theirs, step, undefined, () => rows)
  if (merge === undefined) throw new Error('The sides are not apart')
  return { branches, ours, theirs, merge }
}
