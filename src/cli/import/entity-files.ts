// Names of files for entities, whose own names are any text. Pure. A name comes out readable; two
// names never share a file, even if a disk ignores case.

import { sha256OfText } from '../../crypto/digest.ts'
import { findWriteProblem } from '../../format/characters.ts'
import { foldCase } from '../machine/memory-files.ts'

/** With a suffix and an extension it is short enough for every file system. */
const STEM_BYTES_MAX = 180
const SUFFIX_DIGITS = 8

/** What Windows takes for a device, with any extension. */
const devices = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/

/**
 * A file for each of some distinct names. The first of names that would share one has it without a
 * suffix: entities that are added at the end move none of those before. `taken` are files, too.
 */
export function entityFiles(
  names: readonly string[],
  taken: readonly string[] = [],
): ReadonlyMap<string, string> {
  const used = new Set(taken.map(foldCase))
  const files = new Map<string, string>()
  for (const name of names) {
    const file = freeFile(name, used)
    used.add(foldCase(file))
    files.set(name, file)
  }
  return files
}

function freeFile(name: string, used: ReadonlySet<string>): string {
  const stem = stemOf(name)
  const plain = `${stem}.md`
  if (!used.has(foldCase(plain))) return plain
  for (let round = 0; ; round += 1) {
    const suffix = sha256OfText(`${round} ${name}`).slice(0, SUFFIX_DIGITS)
    const file = `${stem}-${suffix}.md`
    if (!used.has(foldCase(file))) return file
  }
}

/** Letters and digits of any script; all else is one hyphen, at neither end. */
function stemOf(name: string): string {
  const words = name.normalize('NFC').replaceAll(/[^\p{L}\p{M}\p{N}_.]+/gu, '-')
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
