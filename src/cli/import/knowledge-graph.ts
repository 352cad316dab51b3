// The file of the MCP memory server (modelcontextprotocol/servers, src/memory): an entity or a
// relation a line, in JSON. Pure. A damaged line is reported by its number, without its text.

import { isUtf8 } from 'node:buffer'
import { utf8Text } from '../../bytes.ts'
import { isObject, type JsonObject } from '../machine/json.ts'

export interface Entity {
  readonly name: string
  /** More than one if lines of one name differ. */
  readonly types: readonly string[]
  readonly observations: readonly string[]
  /** The 1-based line that names it first. */
  readonly line: number
}

export interface Relation {
  readonly from: string
  readonly to: string
  readonly type: string
}

export interface Graph {
  /** In the order of the file. */
  readonly entities: readonly Entity[]
  /** Each once, in an order that does not depend on the file's. */
  readonly relations: readonly Relation[]
  readonly damaged: readonly { readonly line: number; readonly reason: string }[]
}

const NEWLINE = 0x0a

export function parseGraph(bytes: Uint8Array): Graph {
  const entities = new Map<string, Mentions>()
  const relations = new Map<string, Relation>()
  const damaged: { line: number; reason: string }[] = []
  let line = 0
  for (let at = 0; at < bytes.length;) {
    line += 1
    const end = bytes.indexOf(NEWLINE, at)
    const stop = end === -1 ? bytes.length : end
    const item = parseLine(bytes.subarray(at, stop))
    at = stop + 1
    if (item === undefined) continue
    if (typeof item === 'string') damaged.push({ line, reason: item })
    else if ('name' in item) mention(entities, item, line)
    else relations.set(JSON.stringify([item.from, item.type, item.to]), item)
  }
  const keys = [...relations.keys()].toSorted()
  return {
    entities: Array.from(entities.values(), entityFrom),
    relations: keys.flatMap((key) => relations.get(key) ?? []),
    damaged,
  }
}

type ParsedEntity = Pick<Entity, 'name' | 'types' | 'observations'>

/** The lines of one name, and the number of the first. */
interface Mentions {
  readonly line: number
  readonly first: ParsedEntity
  readonly others: ParsedEntity[]
}

/** The reason if it is damaged; undefined if it is empty. */
function parseLine(bytes: Uint8Array): ParsedEntity | Relation | string | undefined {
  if (!isUtf8(bytes)) return 'not UTF-8 text'
  const text = utf8Text(bytes).trim()
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'not JSON'
  }
  if (!isObject(value)) return 'neither an entity nor a relation'
  const kind = kindOf(value)
  if (kind === 'entity') return entityOf(value)
  return kind === 'relation' ? relationOf(value) : 'neither an entity nor a relation'
}

function entityOf(value: Readonly<Record<string, unknown>>): ParsedEntity | string {
  const { name, entityType, observations } = value
  const texts = Array.isArray(observations) ? observations.map(observationOf) : []
  if (!isText(name) || !isText(entityType) || !Array.isArray(observations) || !isTexts(texts)) {
    return 'an entity without a name, a type and a list of observations in text'
  }
  return { name, types: [entityType], observations: texts }
}

/** Some servers call the field `_type`, and some omit it: then the other fields decide. */
function kindOf(value: JsonObject): 'entity' | 'relation' | undefined {
  for (const kind of [value['type'], value['_type']]) {
    if (kind === 'entity' || kind === 'relation') return kind
  }
  const has = (...names: readonly string[]): boolean => names.every((name) => name in value)
  if (has('name', 'entityType', 'observations')) return 'entity'
  return has('from', 'to', 'relationType') ? 'relation' : undefined
}

/** Some servers keep an observation with its time or its source. */
function observationOf(item: unknown): unknown {
  if (!isObject(item)) return item
  return item['text'] ?? item['content']
}

function relationOf(value: Readonly<Record<string, unknown>>): Relation | string {
  const { from, to, relationType: type } = value
  if (isText(from) && isText(to) && isText(type)) return { from, to, type }
  return 'a relation without two names and a type in text'
}

/** The server keeps names apart, but two of them that write one file do not. */
function mention(entities: Map<string, Mentions>, item: ParsedEntity, line: number): void {
  const before = entities.get(item.name)
  if (before === undefined) entities.set(item.name, { line, first: item, others: [] })
  else before.others.push(item)
}

function entityFrom({ line, first, others }: Mentions): Entity {
  if (others.length === 0) return { ...first, line }
  const all = [first, ...others]
  return {
    name: first.name,
    line,
    types: [...new Set(all.flatMap(({ types }) => types))],
    observations: [...new Set(all.flatMap(({ observations }) => observations))],
  }
}

/** JSON can escape half a surrogate pair, which no UTF-8 has. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed()
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}
