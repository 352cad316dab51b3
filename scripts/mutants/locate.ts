// Finds the code that a mutant changes: the function by its name wherever it is in src/, then the
// statement, condition or text in it.

import { parseAst } from 'rolldown/parseAst'
import type { Change, Edit, Mutant } from './mutant.ts'

export interface Source {
  /** From the root of the repository. */
  readonly file: string
  readonly text: string
}

/** As the parser makes it; a field holds a value, a node, or a list of either. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** Throws an Error unless the change fits one function of this name in one place. */
export function locate(sources: readonly Source[], { within, change }: Mutant): Edit {
  const [edit, ...more] = sources.flatMap((source) => {
    const functions = source.text.includes(within) ? nodesIn(parse(source)) : []
    return functions
      .filter((node) => nameOf(node) === within)
      .flatMap((node) => editsIn(source, node, change))
  })
  if (edit === undefined) throw new Error(`${within} does not contain: ${change.text}`)
  if (more.length > 0) throw new Error(`${within} contains more than once: ${change.text}`)
  return edit
}

/** Of `Disk`, and of the methods that pass it on. */
const SYNCS = new Set('sync syncDirectory syncIfReadable harden scrub fenceJournal'.split(' '))

/** For each call that makes something durable, the edit that leaves it out alone. */
export function syncsIn(source: Source): readonly Edit[] {
  const calls = nodesIn(parse(source)).filter(({ type, callee }) => {
    if (type !== 'CallExpression' || !isNode(callee)) return false
    // `store.as(author).sync()` exchanges with a remote.
    const isExchange = isNode(callee['object']) && callee['object'].type === 'CallExpression'
    return SYNCS.has(nameOf({ ...callee, key: callee['property'] ?? callee })) && !isExchange
  })
  return calls.map(({ start, end }) => ({ file: source.file, start, end, by: 'Promise.resolve()' }))
}

export function apply(text: string, { start, end, by }: Edit): string {
  return text.slice(0, start) + by + text.slice(end)
}

function editsIn({ file, text }: Source, node: Node, change: Change): readonly Edit[] {
  const wanted = pattern(change.text)
  if (change.type === 'swap') {
    const matches = text.slice(node.start, node.end).matchAll(wanted)
    return [...matches].map(({ 0: match, index }) => {
      const start = node.start + index
      return { file, start, end: start + match.length, by: change.by }
    })
  }
  const isFit = (one: Node): boolean => text.slice(one.start, one.end).search(wanted) !== -1
  const nodes = nodesIn(node)
  if (change.type === 'without') {
    const statements = nodes.filter((one) => one.type === 'ExpressionStatement' && isFit(one))
    return statements.map(({ start, end }) => ({ file, start, end, by: ';' }))
  }
  const by = change.type === 'never' ? 'false' : 'true'
  const conditions = nodes.flatMap(({ type, test }) =>
    type === 'IfStatement' && isNode(test) ? test : [],
  )
  return conditions.filter(isFit).map(({ start, end }) => ({ file, start, end, by }))
}

/** Matches the text whatever the formatter makes of its spaces. */
function pattern(text: string): RegExp {
  const escaped = text.trim().split(/\s+|(?<=[([{])|(?=[)\]}.])/)
  const parts = escaped.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(parts.join(String.raw`,?\s*`), 'g')
}

/** The name of a function, method, or constant; of `callee` the last one. */
function nameOf({ id, key }: Node): string {
  const name = isNode(key) ? key : id
  return isNode(name) && typeof name['name'] === 'string' ? name['name'] : ''
}

const parsed = new WeakMap<Source, Node>()

function parse(source: Source): Node {
  const { file, text } = source
  const program: unknown =
    parsed.get(source) ?? parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' })
  if (!isNode(program)) throw new Error(`${file} was not parsed`)
  parsed.set(source, program)
  return program
}

/** The node itself and all below it, parents first. */
function nodesIn(node: Node): readonly Node[] {
  return [node, ...Object.values(node).flat().filter(isNode).flatMap(nodesIn)]
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
