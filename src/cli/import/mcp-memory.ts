// The MCP memory server's knowledge graph: a memory for each entity, in Markdown, with what relates
// it to others, and one for relations between entities that are not there.

import { utf8 } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { decodePlain } from '../../plain-input.ts'
import { inSlices } from '../../time-slice.ts'
import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { entityFiles } from './entity-files.ts'
import { getSource, kindOf } from './files.ts'
import { type Entity, type Graph, parseGraph, type Relation } from './knowledge-graph.ts'
import { type Candidate, type Found, pathBelow } from './source.ts'
import { readNamedFile } from './tree.ts'

/** The server reads all of its file for each request: none is nearly as large. */
const FILE_BYTES_MAX = 256 * MEBIBYTE

const PLACE = '/mcp-memory'
const LOOSE_FILE = 'relations.md'

export async function findMcpMemory(context: Context, input: Input): Promise<Found> {
  const file = getSource(input, 'the file memory.jsonl of the server')
  if (kindOf(file) !== 'file') throw new StoreError('invalid_input', `${file} is a directory`)
  const bytes = readNamedFile(file, FILE_BYTES_MAX)
  if (bytes.length > FILE_BYTES_MAX) {
    throw new StoreError('invalid_input', `${file} has more than ${FILE_BYTES_MAX} bytes`)
  }
  const graph = parseGraph(asUtf8(file, bytes))
  const texts = await inSlices(graphTexts(graph), context.interrupts.signal)
  const candidates = texts.map(({ name, line, text }): Candidate => {
    const origin = line === undefined ? file : `${file}:${line}`
    return { path: pathBelow(input, PLACE, name), origin, read: () => utf8(text) }
  })
  const unsuitable = graph.damaged.map(({ line, reason }) => ({
    origin: `${file}:${line}`,
    reason,
  }))
  return { candidates, leftOut: [], unsuitable }
}

/**
 * The bytes, or those of the same text if they are UTF-16: programs of Windows write it. JSON holds
 * no zero byte, so one at the start is of UTF-16 without its mark. Throws `invalid_input`.
 */
function asUtf8(file: string, bytes: Uint8Array): Uint8Array {
  const [first, second] = bytes
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (!isMarked && first !== 0 && second !== 0) return bytes
  const text = isMarked ? decodePlain(bytes) : undefined
  if (text !== undefined) return utf8(text)
  throw new StoreError(
    'invalid_input',
    `${file} is not UTF-8 text: save it as UTF-8, then import it`,
  )
}

interface GraphText {
  /** The name of the file. */
  readonly name: string
  readonly line?: number
  readonly text: string
}

function* graphTexts({ entities, relations }: Graph): Generator<undefined, readonly GraphText[]> {
  const names = entities.map(({ name }) => name)
  const files = entityFiles(names, [LOOSE_FILE])
  const outgoing = new Map<string, string[]>()
  const incoming = new Map<string, string[]>()
  for (const { from, type, to } of relations) {
    yield
    addTo(outgoing, from, `→ ${inline(type)} → ${link(to, files)}`)
    addTo(incoming, to, `← ${inline(type)} ← ${link(from, files)}`)
  }
  const texts: GraphText[] = []
  for (const entity of entities) {
    yield
    const { name, line } = entity
    const lines = [...(outgoing.get(name) ?? []), ...(incoming.get(name) ?? [])]
    texts.push({ name: files.get(name) ?? '', line, text: entityText(entity, lines) })
  }
  const loose = relations.filter(({ from, to }) => !files.has(from) && !files.has(to))
  if (loose.length > 0) texts.push({ name: LOOSE_FILE, text: looseText(loose) })
  return texts
}

function addTo(lists: Map<string, string[]>, name: string, item: string): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [item])
  else list.push(item)
}

function entityText({ name, types, observations }: Entity, relations: readonly string[]): string {
  // A heading is one line; what that loses is said below it.
  const heading = inline(name) === '' ? 'Without a name' : inline(name)
  const exact = heading === name ? [] : [`Name: ${JSON.stringify(name)}`]
  return [
    `# ${heading}`,
    [...exact, `Type: ${types.map(inline).join(', ')}`].join('\n'),
    ...section('Observations', observations.map(indented)),
    ...section('Relations', relations),
  ]
    .join('\n\n')
    .concat('\n')
}

function looseText(relations: readonly Relation[]): string {
  const items = relations.map(({ from, type, to }) => {
    return `- ${inline(from)} → ${inline(type)} → ${inline(to)}`
  })
  return `# Relations of entities that were not there\n\n${items.join('\n')}\n`
}

function section(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`## ${title}`, items.map((item) => `- ${item}`).join('\n')]
}

/** The other entity, with the file that it is in. */
function link(name: string, files: ReadonlyMap<string, string>): string {
  const file = files.get(name)
  return file === undefined ? inline(name) : `${inline(name)} (${file})`
}

function inline(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Further lines belong to the same item of the list. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n  ')
}
