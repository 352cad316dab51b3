// The law of lists that must be the same in two places, and what reads each list: threats and
// attacks, error codes and their rows and documents, the public API and its committed list.

import type { Violation } from './source.ts'

export interface NamedList {
  readonly name: string
  readonly items: readonly string[]
}

/** Lists the names that are in only one of the two. */
export function agreementLaw(left: NamedList, right: NamedList): Violation[] {
  return [...missing(left, right), ...missing(right, left)]
}

function missing(from: NamedList, other: NamedList): Violation[] {
  return other.items
    .filter((item) => !from.items.includes(item))
    .map((item) => `${from.name}: ${item} is missing; ${other.name} has it`)
}

/** The members of the unions in errors.ts that end in `Code`. */
export function errorCodesOf(text: string): string[] {
  const unions = [...text.matchAll(/^(?:export )?type \w+Code =\s*((?:\s*\| '[a-z_]+'\n)+)/gm)]
  return unions.flatMap((union) => [...(union[1] ?? '').matchAll(/'([a-z_]+)'/g)].map(only))
}

/** The keys of the table `errorSurface`, at its first level of indentation. */
export function surfaceCodesOf(text: string): string[] {
  const table = /^export const errorSurface\b[^=]*= \{\n(.*?)^\}/ms.exec(text)?.[1] ?? ''
  return [...table.matchAll(/^ {2}([a-z_]+):/gm)].map(only)
}

/** The codes that docs/ERRORS.md lists: first cell of a table row, or a heading, in backquotes. */
export function documentedCodesOf(text: string): string[] {
  return [...text.matchAll(/^(?:\|\s*|#{2,4} )`([a-z_]+)`/gm)].map(only)
}

/** The rows of THREAT-MODEL.md: `| T1 | …`, `## T1 …` or `**T1**` at the beginning of a line. */
export function threatRowsOf(text: string): string[] {
  return unique([...text.matchAll(/^(?:\|\s*|#{2,4} |[-*] )?\**(T\d+)\b/gm)].map(only))
}

/** The rows in an index of them, with ranges such as `T1–T5`. */
export function indexedRowsOf(text: string): string[] {
  return [...text.matchAll(/\bT(\d+)(?:–T(\d+))?/g)].flatMap(([, first, last = first]) => {
    const count = Number(last) - Number(first) + 1
    return Array.from({ length: count }, (_, at) => `T${Number(first) + at}`)
  })
}

/** The threat rows that a file of test/attack names. */
export function attackedRowsOf(text: string): string[] {
  return unique([...text.matchAll(/\b(T\d+)\b/g)].map(only))
}

/** What index.ts exports by name, one a line, sorted. */
export function exportsOf(bare: string): string[] {
  const lists = [...bare.matchAll(/\bexport\s+(?:type\s+)?\{([^}]*)\}/g)]
  const names = lists.flatMap((list) =>
    only(list)
      .split(',')
      .map((name) =>
        name
          .trim()
          .replace(/^type\s+/, '')
          .replace(/^.*\sas\s+/, ''),
      )
      .filter((name) => name !== ''),
  )
  const declared = bare.matchAll(
    /\bexport\s+(?:declare\s+)?(?:async\s+)?(?:const|function|class|interface|type)\s+(\w+)/g,
  )
  return unique([...names, ...[...declared].map(only)]).toSorted()
}

function only(match: RegExpMatchArray): string {
  return match[1] ?? ''
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)]
}
