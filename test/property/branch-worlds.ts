// Worlds of devices whose branches part and meet at random: what fast-check makes, and how a store
// is made of it. Every line that is written is unlike all others, so that its origin is known.

import * as fc from 'fast-check'
import { Branches, type MemoryThen, type Node, type Write } from '../support/branches.ts'
import { full } from '../support/seed.ts'

const DEVICES = 3
/** The first ones have a memory that all devices know; of another each branch makes its own. */
const TOPICS = 4
const SHARED = 2

export type WorldStep = { readonly by: number; readonly session: number } & (
  | { readonly type: 'write'; readonly topic: number; readonly how: Edit }
  | { readonly type: 'merge'; readonly other: number }
)

type Edit = 'append' | 'prepend' | 'drop' | 'move' | 'delete'

export interface World {
  readonly steps: readonly WorldStep[]
  /** How far the clock of each device is off, ms. */
  readonly skews: readonly number[]
}

const device = fc.nat({ max: DEVICES - 1 })
const session = fc.nat({ max: 2 })
const edits: readonly fc.WeightedArbitrary<Edit>[] = [
  { weight: 6, arbitrary: fc.constant('append') },
  { weight: 3, arbitrary: fc.constant('prepend') },
  { weight: 1, arbitrary: fc.constant('move') },
]
const removals: readonly fc.WeightedArbitrary<Edit>[] = [
  { weight: 2, arbitrary: fc.constant('drop') },
  { weight: 2, arbitrary: fc.constant('delete') },
]

/** Whether anybody takes away what others wrote. */
export function worlds({ removes }: { readonly removes: boolean }): fc.Arbitrary<World> {
  const how = fc.oneof(...edits, ...(removes ? removals : []))
  const type = { write: fc.constant('write' as const), merge: fc.constant('merge' as const) }
  const topic = fc.nat({ max: TOPICS - 1 })
  const step: fc.Arbitrary<WorldStep> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ by: device, session, type: type.write, topic, how }) },
    { weight: 2, arbitrary: fc.record({ by: device, session, type: type.merge, other: device }) },
  )
  return fc.record({
    steps: fc.array(step, { minLength: 4, maxLength: full ? 60 : 24, size: 'max' }),
    skews: fc.array(fc.constantFrom(0, 0, 25, -25, 70), {
      minLength: DEVICES,
      maxLength: DEVICES,
    }),
  })
}

export interface Grown {
  readonly branches: Branches
  /** The head that all branches ended in. */
  readonly head: Node
  /** The version that brought each line. */
  readonly origins: ReadonlyMap<string, string>
  /** By session. */
  readonly linesOf: ReadonlyMap<string, ReadonlySet<string>>
}

export function sessionName(number: number): string {
  return `session-${number}`
}

export async function grow({ steps, skews }: World): Promise<Grown> {
  const branches = await Branches.start(DEVICES)
  const shared = Array.from({ length: SHARED }, (_, topic) => topicOf(topic))
  const first = await branches.write(branches.root, { by: 0, time: branches.root.time }, shared)
  const heads = Array.from({ length: DEVICES }, () => first)
  const origins = new Map<string, string>()
  for (const { content, versionId } of [...first.memories.values()].filter(
    (one) => one !== undefined,
  )) {
    for (const line of linesIn(content)) origins.set(line, versionId)
  }
  const linesOf = new Map<string, Set<string>>()
  const topics = new Map(shared.map(({ memory }, topic) => [memory, topic]))
  let now = branches.root.time + 100
  const at = (by: number, number: number) => {
    now += 10
    return { by, time: now + (skews[by] ?? 0), session: sessionName(number) }
  }
  const join = async (by: number, other: number, number: number): Promise<void> => {
    const [ours, theirs] = [headOf(heads, by), headOf(heads, other)]
    if (theirs.past.has(ours)) heads[by] = theirs
    else heads[by] = (await branches.merge(ours, theirs, at(by, number))) ?? ours
  }
  for (const step of steps) {
    if (step.type === 'merge') {
      await join(step.by, step.other, step.session)
      continue
    }
    const on = headOf(heads, step.by)
    const line = `line ${now}`
    const memory = [...topics].find(([name, topic]) => {
      return topic === step.topic && on.memories.has(on.idOf(name))
    })
    const name = memory?.[0] ?? `topic ${step.topic} at ${now}`
    topics.set(name, step.topic)
    const before = on.memories.get(on.idOf(name))
    const write = { memory: name, ...edited(before, { home: `/${name}`, how: step.how }, line) }
    const node = await branches.write(on, at(step.by, step.session), [write])
    heads[step.by] = node
    if (write.content?.includes(line) !== true) continue
    origins.set(line, node.rows[0]?.versionId ?? '')
    const author = sessionName(step.session)
    linesOf.set(author, (linesOf.get(author) ?? new Set()).add(line))
  }
  for (let other = 1; other < DEVICES; other += 1) await join(0, other, 0)
  return { branches, head: headOf(heads, 0), origins, linesOf }
}

/** A memory of three lines. */
function topicOf(topic: number): Write {
  const memory = `topic ${topic}`
  const lines = ['one', 'two', 'three'].map((line) => `${memory}, line ${line}\n`)
  return { memory, path: `/${memory}/a`, content: lines.join('') }
}

export function linesIn(content: string): readonly string[] {
  return content.split('\n').slice(0, -1)
}

function headOf(heads: readonly Node[], number: number): Node {
  const head = heads[number]
  if (head === undefined) throw new RangeError('There are not so many devices')
  return head
}

/** Each memory has a directory of its own, so that no two are ever in each other's way. */
function edited(
  before: MemoryThen | undefined,
  { home, how }: { readonly home: string; readonly how: Edit },
  line: string,
): { readonly path: string; readonly content: string | undefined } {
  if (before === undefined) return { path: `${home}/a`, content: `${line}\n` }
  const { path, content } = before
  switch (how) {
    case 'append':
      return { path, content: `${content}${line}\n` }
    case 'prepend':
      return { path, content: `${line}\n${content}` }
    case 'drop':
      return { path, content: content.slice(content.indexOf('\n') + 1) || `${line}\n` }
    case 'move':
      return { path: path === `${home}/a` ? `${home}/b` : `${home}/a`, content }
    case 'delete':
      return { path, content: undefined }
    default:
      throw new Error('Not an edit')
  }
}
