// Adds one table to the text of a TOML file that belongs to a user, at its end: nothing else of the
// text changes, not a byte. It refuses a file that has another table of the name. Pure. Messages
// show no value of the file, which may be a secret of another program.

import { parse, stringify, TomlError } from 'smol-toml'
import { assert } from '../../errors.ts'
import { isObject } from '../machine/json.ts'
import { type Addition, holds, refused, type Wanted } from './json-text.ts'

/** Undefined if the table is there already. Throws `invalid_input`: `what` names the file. */
export function addTable(what: string, text: string, wanted: Wanted): Addition | undefined {
  const { path, name = '', value } = wanted
  const found = findTable(parsed(what, text), [...path, name])
  if (found !== undefined) {
    if (holds(found, value)) return undefined
    throw refused(what, `it has another "${name}"; remove that one, or edit it yourself`)
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const table = path.reduceRight<object>((inner, key) => ({ [key]: inner }), { [name]: value })
  const lines = stringify(table).trimEnd().split('\n')
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol
  const added = `${text}${gap}${lines.join(eol)}${eol}`
  const closed = `its "${path.join('.')}" is closed; write it as tables in square brackets`
  const isThere = holds(findTable(parsed(what, added, closed), [...path, name]), value)
  assert(isThere, 'the added table is there')
  return { text: added, lines }
}

function parsed(what: string, text: string, problem = 'it is not valid TOML'): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw refused(what, problem)
  }
}

function findTable(root: unknown, names: readonly string[]): unknown {
  let table = root
  for (const name of names) table = isObject(table) ? table[name] : undefined
  return table
}
