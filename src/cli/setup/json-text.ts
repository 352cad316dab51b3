// Adds one value to the text of a JSON file that belongs to a user, with or without comments:
// nothing else of the text changes, not a byte. It refuses what it cannot add to. `modify` of
// jsonc-parser reformats the entry before the new one, moves that entry's comment behind the new
// one, spreads a file of one line, adds to a file that is cut off, and overlooks a name that occurs
// twice. Pure. Messages show no value of the file, which may be a secret of another program.

import { createScanner, getNodeValue, type Node, type ParseError, parseTree } from 'jsonc-parser'
import { assert, StoreError } from '../../errors.ts'
import { MARK } from '../../plain-input.ts'
import { isObject, type Json, type JsonObject } from '../machine/json.ts'

/** A value that the file must hold. */
export interface Wanted {
  /** Names from the root on; missing parts are made. */
  readonly path: readonly string[]
  /** The property at `path`; without one the value is an item of the list there. */
  readonly name?: string
  readonly value: JsonObject
  /** Whether an item of the list is the value, or is in its place. */
  readonly judge?: (item: JsonObject) => 'same' | 'other' | undefined
}

export interface Addition {
  readonly text: string
  /** The new lines: those of the value, and of the objects made to hold it. */
  readonly lines: readonly string[]
}

/** Undefined if the value is there already. Throws `invalid_input`: `what` names the file. */
export function addTo(what: string, text: string, wanted: Wanted): Addition | undefined {
  const mark = text.startsWith(MARK) ? MARK : ''
  const body = text.slice(mark.length)
  const added = addToBody(what, body, wanted)
  if (added === undefined) return undefined
  assert(addToBody(what, added.text, wanted) === undefined, 'the added text is not there')
  return { ...added, text: mark + added.text }
}

function addToBody(what: string, text: string, wanted: Wanted): Addition | undefined {
  if (text.trim() === '') return newText(text, wanted)
  const place = findPlace(what, parse(what, text), wanted)
  return place === undefined ? undefined : insert(text, place)
}

/** The text of a file that was empty or absent. */
function newText(text: string, wanted: Wanted): Addition {
  const lines = JSON.stringify(heldBelow(wanted, 0), undefined, 2).split('\n')
  const eol = eolOf(text)
  return { text: lines.join(eol) + eol, lines }
}

function parse(what: string, text: string): Node {
  const errors: ParseError[] = []
  const root = parseDeep(what, text, errors)
  if (root === undefined || errors.length > 0) throw refused(what, 'it is not valid JSON')
  if (root.type !== 'object') throw refused(what, 'it holds no JSON object')
  return root
}

/** The parser calls itself for each level. */
function parseDeep(what: string, text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true })
  } catch (error) {
    if (error instanceof RangeError) throw refused(what, 'its values are nested too deeply')
    throw error
  }
}

/** An object or a list, and what becomes its last member. */
interface NewMember {
  readonly container: Node
  readonly name: string | undefined
  readonly value: Json
}

/** Undefined if the value is there. */
function findPlace(what: string, root: Node, wanted: Wanted): NewMember | undefined {
  const { path, name, value } = wanted
  let container = root
  for (const [index, key] of path.entries()) {
    const isLast = index === path.length - 1
    const found = findProperty(what, container, key)
    if (found === undefined) {
      return { container, name: key, value: heldBelow(wanted, index + 1) }
    }
    const type = isLast && name === undefined ? 'array' : 'object'
    if (found.type !== type) {
      throw refused(what, `its "${key}" is no ${type === 'array' ? 'list' : 'object'}`)
    }
    container = found
  }
  const isThere =
    name === undefined ? hasItem(what, container, wanted) : hasProperty(what, container, wanted)
  return isThere ? undefined : { container, name, value }
}

/** The value in the objects that hold it, from a part of its path on. */
function heldBelow({ path, name, value }: Wanted, from: number): Json {
  const inner = name === undefined ? [value] : { [name]: value }
  return path.slice(from).reduceRight<Json>((held, key) => ({ [key]: held }), inner)
}

/** Of two properties with one name, programs take either. */
function findProperty(what: string, container: Node, name: string): Node | undefined {
  const found = (container.children ?? []).filter(({ children }) => children?.[0]?.value === name)
  if (found.length > 1) throw refused(what, `it has "${name}" twice`)
  return found[0]?.children?.[1]
}

function hasProperty(what: string, container: Node, { name = '', value }: Wanted): boolean {
  const found = findProperty(what, container, name)
  if (found === undefined) return false
  if (holds(getNodeValue(found), value)) return true
  throw refused(what, `it has another "${name}"; remove that one, or edit it yourself`)
}

function hasItem(what: string, container: Node, { judge }: Wanted): boolean {
  const items: readonly unknown[] = (container.children ?? []).map((item) => getNodeValue(item))
  const verdicts = new Set(items.map((item) => (isObject(item) ? judge?.(item) : undefined)))
  if (verdicts.has('same')) return true
  if (!verdicts.has('other')) return false
  throw refused(what, 'it has an older or another one of these; remove that one')
}

/** Whether a value has all that another one has; it may have more properties. */
export function holds(found: unknown, wanted: Json): boolean {
  if (Array.isArray(wanted)) {
    const items: readonly Json[] = wanted
    const isAsLong = Array.isArray(found) && found.length === items.length
    return isAsLong && items.every((item, index) => holds(found[index], item))
  }
  if (!isObject(wanted)) return found === wanted
  return isObject(found) && Object.entries(wanted).every(([key, value]) => holds(found[key], value))
}

function insert(text: string, place: NewMember): Addition {
  const { container } = place
  const last = container.children?.at(-1)
  const after = last === undefined ? container.offset + 1 : endOf(last)
  const tail = readTail(text, after, endOf(container) - 1)
  const isOnLines =
    text.slice(container.offset, endOf(container)).includes('\n') ||
    (last === undefined && (text.trim().includes('\n') || text.trim() === '{}'))
  const unit = /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
  const eol = eolOf(text)
  const lines = memberLines(place, isOnLines ? unit : undefined)
  const comma = last === undefined || tail.hasComma ? '' : ','
  const before = text.slice(0, after) + comma + text.slice(after, tail.end)
  const behind = text.slice(tail.end)
  if (!isOnLines) {
    return { text: `${before}${last === undefined ? '' : ' '}${lines.join('')}${behind}`, lines }
  }
  const outer = indentAt(text, container.offset)
  const isBelow = last !== undefined && startsLine(text, last.offset)
  const indent = isBelow ? indentAt(text, last.offset) : outer + unit
  const closes = /^[ \t]*\r?\n/.test(behind) ? '' : eol + outer
  const block = lines.map((line) => eol + indent + line).join('')
  return { text: before + block + closes + behind, lines }
}

function memberLines({ name, value }: NewMember, unit: string | undefined): readonly string[] {
  const start = name === undefined ? '' : `${JSON.stringify(name)}: `
  return (start + JSON.stringify(value, undefined, unit)).split('\n')
}

/**
 * Reads from the last member of an object or a list to its end: `end` is behind the last comma or
 * comment, or where it began.
 */
function readTail(text: string, from: number, to: number): { end: number; hasComma: boolean } {
  const scanner = createScanner(text, false)
  scanner.setPosition(from)
  let [end, hasComma] = [from, false]
  for (scanner.scan(); scanner.getTokenOffset() < to; scanner.scan()) {
    const token = text.slice(scanner.getTokenOffset(), scanner.getPosition())
    if (token.trim() === '') continue
    end = scanner.getPosition()
    hasComma ||= token === ','
  }
  return { end, hasComma }
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset) + 1, offset).trim() === ''
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset) + 1))?.[0] ?? ''
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

export function refused(what: string, problem: string): StoreError {
  return new StoreError(
    'invalid_input',
    `Could not add to ${what}: ${problem}; nothing was changed`,
  )
}
