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
  const kind = isObject(value) ? kindOf(value) : undefined
  if (!isObject(value) || kind === undefined) return 'neither an entity nor a relation'
  return kind === 'entity' ? entityOf(value, line) : relationOf(value)
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
