// The MCP memory server's knowledge graph (modelcontextprotocol/servers, src/memory): an entity or
// a relation a line, in JSON. Each entity becomes a memory in Markdown with its relations; the
// relations between other entities share one. A damaged line is reported by its number only.

import { isUtf8 } from 'node:buffer'
import { utf8, utf8Text } from '../../bytes.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { findWriteProblem } from '../../format/characters.ts'
import { MEBIBYTE } from '../../limits.ts'
import { decodePlain } from '../../plain-input.ts'
import { inSlices } from '../../time-slice.ts'
import type { Context, Input } from '../call/command.ts'
import { isObject, type JsonObject } from '../machine/json.ts'
import { foldCase } from '../machine/memory-files.ts'
import { kindOf } from './files.ts'
import { getSource, pathBelow, type TextCandidate, type FoundTexts } from './source.ts'
import { readNamedFile } from './tree.ts'

/** The server reads its whole file for each request: none is nearly as large. */
const FILE_BYTES_MAX = 256 * MEBIBYTE
const PLACE = '/mcp-memory'
const LOOSE_FILE = 'relations.md'

export async function findMcpMemory(context: Context, input: Input): Promise<FoundTexts> {
  const file = getSource(input, 'the file memory.jsonl of the server')
  if (kindOf(file) !== 'file') throw new StoreError('invalid_input', `${file} is a directory`)
  const bytes = readNamedFile(file, FILE_BYTES_MAX)
  if (bytes.length > FILE_BYTES_MAX) {
    throw new StoreError('invalid_input', `${file} has more than ${FILE_BYTES_MAX} bytes`)
  }
  const graph = parseGraph(asUtf8(file, bytes))
  const texts = await inSlices(graphTexts(graph), context.interrupts.signal)
  const candidates = texts.map(({ name, line, text }): TextCandidate => {
    const origin = line === undefined ? file : `${file}:${line}`
    return { path: pathBelow(input, PLACE, name), origin, read: () => utf8(text) }
  })
  const damaged = graph.damaged.map(({ line, reason }) => ({ origin: `${file}:${line}`, reason }))
  return { candidates, leftOut: [], unsuitable: damaged }
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
  const problem = `${file} is not UTF-8 text: save it as UTF-8, then import it`
  throw new StoreError('invalid_input', problem)
}

interface GraphText {
  /** The name of the file. */
  readonly name: string
  readonly line?: number
  readonly text: string
}

function* graphTexts({
  entities,
  relations,
}: KnowledgeGraph): Generator<undefined, readonly GraphText[]> {
  const names = entities.map(({ name }) => name)
  const files = entityFiles(names, [LOOSE_FILE])
  const outgoing = new Map<string, string[]>(names.map((name) => [name, []]))
  const incoming = new Map<string, string[]>(names.map((name) => [name, []]))
  const loose: string[] = []
  for (const { from, type, to } of relations) {
    yield
    outgoing.get(from)?.push(`- → ${inline(type)} → ${link(to, files)}`)
    incoming.get(to)?.push(`- ← ${inline(type)} ← ${link(from, files)}`)
    if (files.has(from) || files.has(to)) continue
    loose.push(`- ${inline(from)} → ${inline(type)} → ${inline(to)}`)
  }
  const texts: GraphText[] = []
  for (const entity of entities) {
    yield
    const { name, line } = entity
    const own = [...(outgoing.get(name) ?? []), ...(incoming.get(name) ?? [])]
    texts.push({ name: files.get(name) ?? '', line, text: entityText(entity, own) })
  }
  const title = '# Relations of entities that were not there'
  if (loose.length > 0) texts.push({ name: LOOSE_FILE, text: `${title}\n\n${loose.join('\n')}\n` })
  return texts
}

function entityText({ name, types, observations }: Entity, relations: readonly string[]): string {
  // A heading is one line: the exact name is below it if it differs.
  const heading = inline(name) === '' ? 'Without a name' : inline(name)
  const exact = heading === name ? '' : `Name: ${JSON.stringify(name)}\n`
  // Further lines of an observation belong to the same item of the list.
  const observed = observations.map((text) => `- ${text.replaceAll('\n', '\n  ')}`)
  const head = `# ${heading}\n\n${exact}Type: ${types.map(inline).join(', ')}\n`
  return head + section('Observations', observed) + section('Relations', relations)
}

function section(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `\n## ${title}\n\n${items.join('\n')}\n`
}

/** The other entity, with its file. */
function link(name: string, files: ReadonlyMap<string, string>): string {
  const file = files.get(name)
  return file === undefined ? inline(name) : `${inline(name)} (${file})`
}

function inline(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** With a suffix and an extension it is short enough for every file system. */
const STEM_BYTES_MAX = 180
const SUFFIX_DIGITS = 8

/** What Windows takes for a device, with any extension. */
const devices = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/

/**
 * A readable file name for each of some distinct names, which are any text. No two share a file,
 * even on a disk that ignores case. The first of names that would has it without a suffix, so that
 * an entity that is added at the end moves none before it. `taken` are files, too.
 */
export function entityFiles(
  names: readonly string[],
  taken: readonly string[] = [],
): ReadonlyMap<string, string> {
  const used = new Set(taken.map(foldCase))
  const files = new Map<string, string>()
  for (const name of names) {
    const stem = stemOf(name)
    let file = `${stem}.md`
    for (let round = 0; used.has(foldCase(file)); round += 1) {
      file = `${stem}-${sha256OfText(`${round} ${name}`).slice(0, SUFFIX_DIGITS)}.md`
    }
    used.add(foldCase(file))
    files.set(name, file)
  }
  return files
}

/** Letters and digits of any script that are seen; each other run is one hyphen, at neither end. */
function stemOf(name: string): string {
  const words = name.normalize('NFC').replaceAll(/(?:[^\p{L}\p{M}\p{N}_.]|\p{DI})+/gu, '-')
  const stem = trimmed(firstBytes(trimmed(words))).normalize('NFC')
  if (stem === '' || findWriteProblem(stem) !== undefined) return 'entity'
  return devices.test(foldCase(stem)) ? `_${stem}` : stem
}

/** Looks at each run once, from its beginning: a name may have millions of dots. */
function trimmed(text: string): string {
  return text.replaceAll(/^[-.]+|(?<![-.])[-.]+$/g, '')
}

function firstBytes(text: string): string {
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > STEM_BYTES_MAX) break
    end += character.length
  }
  return text.slice(0, end)
}

interface Entity {
  readonly name: string
  /** More than one if lines of one name differ. */
  readonly types: readonly string[]
  readonly observations: readonly string[]
  /** The 1-based line that names it first. */
  readonly line: number
}

interface Relation {
  readonly from: string
  readonly to: string
  readonly type: string
}

interface KnowledgeGraph {
  /** In the order of the file. */
  readonly entities: readonly Entity[]
  /** Each once, in an order that does not depend on the file's. */
  readonly relations: readonly Relation[]
  readonly damaged: readonly { readonly line: number; readonly reason: string }[]
}

const NEWLINE = 0x0a

export function parseGraph(bytes: Uint8Array): KnowledgeGraph {
  const mentions = new Map<string, [Entity, ...Entity[]]>()
  const relations = new Map<string, Relation>()
  const damaged: { line: number; reason: string }[] = []
  let line = 0
  for (let at = 0; at < bytes.length;) {
    line += 1
    const end = bytes.indexOf(NEWLINE, at)
    const stop = end === -1 ? bytes.length : end
    const item = parseLine(bytes.subarray(at, stop), line)
    at = stop + 1
    if (item === undefined) continue
    if (typeof item === 'string') damaged.push({ line, reason: item })
    else if ('from' in item) relations.set(JSON.stringify([item.from, item.type, item.to]), item)
    else if (mentions.get(item.name)?.push(item) === undefined) mentions.set(item.name, [item])
  }
  const keys = [...relations.keys()].toSorted()
  return {
    entities: Array.from(mentions.values(), joined),
    relations: keys.flatMap((key) => relations.get(key) ?? []),
    damaged,
  }
}

/** The reason if it is damaged; undefined if it is empty. */
function parseLine(bytes: Uint8Array, line: number): Entity | Relation | string | undefined {
  if (!isUtf8(bytes)) return 'not UTF-8 text'
  const text = utf8Text(bytes).trim()
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'not JSON'
  }
  const kind = isObject(value) ? typeOf(value) : undefined
  if (!isObject(value) || kind === undefined) return 'neither an entity nor a relation'
  return kind === 'entity' ? entityOf(value, line) : relationOf(value)
}

/** Some servers call the field `_type`, and some omit it: then the other fields decide. */
function typeOf(value: JsonObject): 'entity' | 'relation' | undefined {
  for (const kind of [value['type'], value['_type']]) {
    if (kind === 'entity' || kind === 'relation') return kind
  }
  const has = (...names: readonly string[]): boolean => names.every((name) => name in value)
  if (has('name', 'entityType', 'observations')) return 'entity'
  return has('from', 'to', 'relationType') ? 'relation' : undefined
}

function entityOf(value: JsonObject, line: number): Entity | string {
  const { name, entityType, observations } = value
  // Some servers keep an observation with its time or its source.
  const texts = Array.isArray(observations)
    ? observations.map((item) => (isObject(item) ? (item['text'] ?? item['content']) : item))
    : undefined
  if (!isText(name) || !isText(entityType) || texts?.every(isText) !== true) {
    return 'an entity without a name, a type and a list of observations in text'
  }
  return { name, types: [entityType], observations: texts, line }
}

function relationOf({ from, to, relationType: type }: JsonObject): Relation | string {
  if (isText(from) && isText(to) && isText(type)) return { from, to, type }
  return 'a relation without two names and a type in text'
}

/** The lines of one name. The server keeps names apart, but two servers on one file do not. */
function joined([first, ...others]: readonly [Entity, ...Entity[]]): Entity {
  if (others.length === 0) return first
  const all = [first, ...others]
  const types = [...new Set(all.flatMap((entity) => entity.types))]
  const observations = [...new Set(all.flatMap((entity) => entity.observations))]
  return { ...first, types, observations }
}

/** JSON can escape half a surrogate pair, which no UTF-8 has. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed()
}
