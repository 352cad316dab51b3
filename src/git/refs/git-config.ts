// Parses git's config file format: sections, subsections, comments, quotes, continuation lines.
// Pure. Includes are not followed; git ignores them too for settings that define the repository
// format. Must refuse what it cannot parse: a misread config could hide an extension.

import { StoreError } from '../../errors.ts'

/** Values by `section.key` or `section.subsection.key`; section and key in lower case. */
export type GitConfig = ReadonlyMap<string, readonly string[]>

export function parseGitConfig(text: string): GitConfig {
  const values = new Map<string, string[]>()
  let section = ''
  for (const line of logicalLines(text)) {
    let rest = line.trimStart()
    if (rest.startsWith('[')) {
      const header = /^\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\]/.exec(rest)
      if (header?.[1] === undefined) throw unreadable()
      const subsection = header[2]?.replaceAll(/\\(.)/g, '$1')
      section = header[1].toLowerCase() + (subsection === undefined ? '' : `.${subsection}`)
      rest = rest.slice(header[0].length).trimStart()
    }
    if (rest === '' || rest.startsWith('#') || rest.startsWith(';')) continue
    const entry = /^([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?$/s.exec(rest)
    if (entry?.[1] === undefined || section === '') throw unreadable()
    const name = `${section}.${entry[1].toLowerCase()}`
    // A key without a value is true.
    const value = entry[2] === undefined ? 'true' : parseValue(entry[2])
    const others = values.get(name)
    if (others === undefined) values.set(name, [value])
    else others.push(value)
  }
  return values
}

export function findSetting(config: GitConfig, name: string): string | undefined {
  return config.get(name)?.at(-1)
}

/** Joins lines that end in an unescaped backslash with the next one. */
function logicalLines(text: string): string[] {
  const lines: string[] = []
  let begun = ''
  let quoted = false
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const end = scanLine(line, quoted)
    begun += end.continues ? line.slice(0, -1) : line
    quoted = end.continues && end.quoted
    if (end.continues) continue
    lines.push(begun)
    begun = ''
  }
  return begun === '' ? lines : [...lines, begun]
}

/**
 * A comment ends with its line, even one that ends in a backslash: joined, it would hide the next.
 */
function scanLine(line: string, quotedBefore: boolean): { continues: boolean; quoted: boolean } {
  let quoted = quotedBefore
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at)
    if (character === '\\') {
      at += 1
      if (at === line.length) return { continues: true, quoted }
    } else if (character === '"') quoted = !quoted
    else if (!quoted && (character === '#' || character === ';')) break
  }
  return { continues: false, quoted: false }
}

/** Removes quotes, escapes, comments and surrounding white space. */
function parseValue(raw: string): string {
  let value = ''
  let quoted = false
  let kept = 0
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw.charAt(at)
    if (character === '"') {
      quoted = !quoted
      continue
    }
    if (!quoted && (character === '#' || character === ';')) break
    if (character === '\\') {
      at += 1
      value += unescape(raw.charAt(at))
    } else if (quoted || !/\s/.test(character) || value !== '') value += character
    if (quoted || !/\s/.test(character)) kept = value.length
  }
  if (quoted) throw unreadable()
  return value.slice(0, kept)
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['b', '\b'],
  ['"', '"'],
  ['\\', '\\'],
])

function unescape(character: string): string {
  const meaning = escapes.get(character)
  if (meaning === undefined) throw unreadable()
  return meaning
}

function unreadable(): StoreError {
  return new StoreError(
    'unsupported_repository',
    "The repository's config file cannot be read: correct it so that git config --list works",
  )
}
